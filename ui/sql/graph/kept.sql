-- Whether the parts of all requests are kept, and of how many waits and segments they would be.
SELECT
    EXISTS (FROM duckdb_tables() WHERE database_name = 'digest' AND table_name = 'part'),
    (SELECT count(*) FROM edge) + (SELECT count(*) FROM segment)
