-- The requests of each summary without their buckets, as rows of ``tail``.
INSERT INTO tail
SELECT summary_id, 'request', kind, is_outermost, '', '', '', '',
    sum(n)::BIGINT,
    coalesce(sum(n) FILTER (bucket >= slow_bucket), 0)::BIGINT,
    sum(blocked_ns)::BIGINT,
    coalesce(sum(blocked_ns) FILTER (bucket >= slow_bucket), 0)::BIGINT
FROM requested
JOIN slow USING (kind)
WHERE role = 'foreground'
GROUP BY summary_id, kind, is_outermost
