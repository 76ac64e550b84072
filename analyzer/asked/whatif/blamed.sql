-- Time of foreground requests that inversions blame on threads, and how sure that is: the
-- confidence, without what it lost because the culprit has no role.
SELECT inversion.request_id, inversion.kind, inversion.culprit_utid, inversion.dur,
    least(1.0, inversion.confidence * if(inversion.role = 'unknown', 2, 1)) AS confidence,
    coalesce(pattern.rank, 0) AS rank
FROM inversion
LEFT JOIN inversion_pattern AS pattern
    ON pattern.kind = inversion.kind
    AND pattern.culprit = inversion.culprit
    AND pattern.role_rule = inversion.role_rule
    AND pattern.pattern = inversion.pattern
ORDER BY inversion_id
