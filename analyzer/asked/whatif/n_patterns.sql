-- How many patterns inversion_pattern numbers: to count its requests takes seconds of a million.
SELECT count(*)
FROM (SELECT DISTINCT kind, culprit, role, role_rule, pattern FROM inversion)
