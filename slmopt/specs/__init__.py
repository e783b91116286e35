"""What a user chooses: model, device, formats, scenario; and the presets that describe them."""
