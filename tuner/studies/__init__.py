"""The study: trials in a DuckDB file, and what is read from it."""
