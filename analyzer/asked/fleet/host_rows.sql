-- Foreground requests in the summaries of one host, by kind and bucket.
SELECT kind, bucket, is_outermost, sum(n)::BIGINT AS n, max(max_ns) AS max_ns
FROM read_parquet($1, hive_partitioning = false)
WHERE part = 'request' AND role = 'foreground'
GROUP BY kind, bucket, is_outermost
ORDER BY kind, bucket, is_outermost
