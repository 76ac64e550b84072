"""Whose work a task does: roles, containers, titles."""
