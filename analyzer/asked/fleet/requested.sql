-- The requests of all summaries by bucket.
INSERT INTO requested
SELECT file_index, kind, role, is_outermost, bucket, n, n_blocked, dur_ns, blocked_ns, max_ns
FROM read_parquet($1, hive_partitioning = false)
WHERE part = 'request'
