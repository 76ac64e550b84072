"""The analyzer: spool to DuckDB, critical paths, inversions, reports."""
