-- Inversions of requests by name and role, by pattern.
SELECT name, role, pattern || ': ' || kind || ' by ' || culprit, n_requests, dur
FROM pattern_by_kind
