-- Decisions of the patched kernel's policies by kind, role and class, the longest first.
SELECT kind, role, level, n, dur, max_dur, n_requests, foreground_dur
FROM policy_by_kind
ORDER BY dur DESC, kind, role, level
