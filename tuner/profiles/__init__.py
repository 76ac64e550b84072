"""Profiles: settings from which a search starts, with the evidence for each value."""
