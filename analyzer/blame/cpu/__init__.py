"""Waits for a CPU: who ran meanwhile, and whose work that was."""
