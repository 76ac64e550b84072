-- Inversions summed by request, pattern and culprit's cgroup. is_first marks one row per request and
-- pattern: counting these is much faster than DISTINCT.
CREATE TABLE digest.request_pattern AS
SELECT
    inversion.request_id,
    pattern.pattern_id,
    task.cgroup_id,
    sum(inversion.dur)::BIGINT AS dur,
    max(inversion.dur) AS longest,
    sum(inversion.confidence * inversion.dur) AS sure_dur,
    row_number() OVER (PARTITION BY inversion.request_id, pattern.pattern_id) = 1 AS is_first
FROM inversion
JOIN digest.pattern AS pattern USING (kind, culprit, role, role_rule, pattern)
LEFT JOIN task ON task.utid = inversion.culprit_utid
GROUP BY inversion.request_id, pattern.pattern_id, task.cgroup_id
