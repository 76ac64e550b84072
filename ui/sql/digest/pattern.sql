-- The patterns of inversions, numbered: grouping by five texts takes four times as long.
CREATE TABLE digest.pattern AS
SELECT row_number() OVER () AS pattern_id, *
FROM (SELECT DISTINCT kind, culprit, role, role_rule, pattern FROM inversion)
