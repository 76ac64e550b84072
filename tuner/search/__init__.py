"""Searches: which settings to try next, given what the trials so far measured."""
