"""Knobs of a running machine: journaled, written, watched, restored after any death."""
