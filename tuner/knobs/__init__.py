"""Knobs: what they are, where they live, and how they are set and put back."""
