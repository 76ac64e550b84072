-- Inversions by pattern, the costliest first. Of a part, numbers are those of the recording.
SELECT
    rank, kind, culprit, role, role_rule, n_requests, dur, max_dur, slow_share, confidence,
    worst_request_id, pattern
FROM inversion_pattern
ORDER BY dur DESC, rank
