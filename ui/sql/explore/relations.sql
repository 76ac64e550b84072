-- The tables and views that are documented, which leaves out those of DuckDB and of the explorer.
SELECT table_name AS name, true AS is_table, comment
FROM duckdb_tables()
WHERE database_name = current_database() AND comment IS NOT NULL
UNION ALL
SELECT view_name, false, comment
FROM duckdb_views()
WHERE database_name = current_database() AND comment IS NOT NULL
ORDER BY name
