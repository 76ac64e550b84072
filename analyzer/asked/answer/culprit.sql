-- The costliest pattern of inversions: the first of inversion_pattern, in a fraction of its time.
-- It sorts none but the first, so it has the order itself; ui/tests/parts/test_numbers.py compares.
SELECT kind, culprit, role, pattern
FROM inversion
GROUP BY kind, culprit, role, role_rule, pattern
ORDER BY sum(dur) DESC, pattern, kind, culprit, role, role_rule
LIMIT 1
