-- The rows of each summary without their buckets: in all, and of the slow requests. A request is
-- slow if its bucket is that of the fleet's p99 for its kind, or a later one.
INSERT INTO tail
SELECT file_index, part, kind, is_outermost, reason, culprit, culprit_role, pattern,
    sum(n)::BIGINT,
    coalesce(sum(n) FILTER (bucket >= slow_bucket), 0)::BIGINT,
    sum(blocked_ns)::BIGINT,
    coalesce(sum(blocked_ns) FILTER (bucket >= slow_bucket), 0)::BIGINT
FROM read_parquet($1, hive_partitioning = false)
JOIN slow USING (kind)
WHERE role = 'foreground' AND part <> 'request' AND part <> 'pattern'
GROUP BY file_index, part, kind, is_outermost, reason, culprit, culprit_role, pattern
