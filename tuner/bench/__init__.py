"""The searches side by side, replayed on a table of real trials."""
