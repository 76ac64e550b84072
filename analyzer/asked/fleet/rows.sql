-- The rows of a summary: entries of requests, added up.
SELECT part, kind, role, is_outermost, reason, culprit, culprit_role, pattern, bucket,
    count(*) AS n,
    count(*) FILTER (is_blocked) AS n_blocked,
    sum(dur)::BIGINT AS dur_ns,
    sum(blocked)::BIGINT AS blocked_ns,
    max(longest) AS max_ns
FROM entry
GROUP BY part_order, part, kind, role, is_outermost, reason, culprit, culprit_role, pattern, bucket
ORDER BY part_order, kind, role, is_outermost, reason, culprit, culprit_role, pattern, bucket
