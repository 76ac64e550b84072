"""Telling the kernel which programs users wait for: from Python, from C, from a shell."""
