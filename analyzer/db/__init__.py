"""The store: the only doors to DuckDB and pyarrow, and the SQL modules of its schema."""
