"""Locks: who had them, and who only passed them on."""
