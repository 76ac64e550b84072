"""Knobs: their definitions, and how to read, write and restore them."""
