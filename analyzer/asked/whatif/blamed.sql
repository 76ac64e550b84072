-- Time of foreground requests that inversions blame on threads, and how sure that is: the
-- confidence, without what it lost because the culprit has no role. $1: kinds of waits for the
-- culprit's own work; $2: those of waits for a unit that culprits hold.
SELECT inversion.request_id, inversion.culprit_utid, inversion.dur,
    least(1.0, inversion.confidence * if(inversion.role = 'unknown', 2, 1)) AS confidence,
    coalesce(pattern.rank, 0) AS rank,
    list_contains($1::VARCHAR[], inversion.kind) AS is_chain,
    list_contains($2::VARCHAR[], inversion.kind) AS is_pool,
    inversion.kind = 'dirty_throttle' AS is_whole,
    inversion.kind = 'cpu' AS is_cpu
FROM inversion
LEFT JOIN (
    -- As inversion_pattern numbers them, which counts requests too: that takes seconds.
    SELECT row_number() OVER (
            ORDER BY sum(dur)::BIGINT DESC, pattern, kind, culprit, role, role_rule
        ) AS rank,
        kind, culprit, role, role_rule, pattern
    FROM inversion
    GROUP BY kind, culprit, role, role_rule, pattern
) AS pattern
    ON pattern.kind = inversion.kind
    AND pattern.culprit = inversion.culprit
    AND pattern.role = inversion.role
    AND pattern.role_rule = inversion.role_rule
    AND pattern.pattern = inversion.pattern
