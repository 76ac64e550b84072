-- Time of foreground requests that inversions blame on threads, and how sure that is: the
-- confidence, without what it lost because the culprit has no role. $1: kinds of waits for the
-- culprit's own work; $2: those of waits for a unit that culprits hold.
SELECT inversion.request_id, inversion.culprit_utid, inversion.dur,
    least(1.0, inversion.confidence * if(inversion.role = 'unknown', 2, 1)) AS confidence,
    coalesce(pattern.rank, 0) AS rank,
    list_contains($1::VARCHAR[], inversion.kind) AS is_chain,
    list_contains($2::VARCHAR[], inversion.kind) AS is_pool,
    inversion.kind IN ('dirty_throttle', 'cpu_max', 'refault') AS is_whole,
    inversion.kind = 'cpu' AS is_cpu
FROM inversion
LEFT JOIN "asked/pattern/numbered" AS pattern
    ON pattern.kind = inversion.kind
    AND pattern.culprit = inversion.culprit
    AND pattern.role = inversion.role
    AND pattern.role_rule = inversion.role_rule
    AND pattern.pattern = inversion.pattern
