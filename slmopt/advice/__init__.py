"""What to do: targets, techniques and their predicted gain, the order to apply them in."""
