"""Loads a spool into a store: arrays, critical paths, verdicts, tables."""
