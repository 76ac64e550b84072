-- The latencies of all hosts by kind, role and group of hosts: sums of the rows of the summaries.
SELECT one.part_of, kind, role, is_outermost, bucket,
    sum(n)::BIGINT AS n,
    sum(n_blocked)::BIGINT AS n_blocked,
    sum(dur_ns)::BIGINT AS dur_ns,
    sum(blocked_ns)::BIGINT AS blocked_ns,
    max(max_ns) AS max_ns
FROM requested
JOIN one USING (summary_id)
GROUP BY one.part_of, kind, role, is_outermost, bucket
ORDER BY one.part_of, kind, role, is_outermost, bucket
