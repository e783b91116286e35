"""The forward pass and what follows from it. Numbers only: no text, no figures."""
