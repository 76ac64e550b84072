-- Inversions by pattern, the costliest first.
SELECT
    rank, kind, culprit, role, role_rule, n_requests, dur, max_dur, slow_share, confidence,
    worst_request_id, pattern
FROM inversion_pattern
ORDER BY rank
