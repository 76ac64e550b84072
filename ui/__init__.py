"""The inversion explorer."""
