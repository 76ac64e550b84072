SELECT column_name, data_type, coalesce(comment, '')
FROM duckdb_columns()
WHERE database_name = current_database() AND table_name = $1
ORDER BY column_index
