-- The patterns of inversions, numbered: grouping by five texts takes four times as long. Their number
-- is the #1, #2 … of the report: the order is that of the view inversion_pattern, which takes ten times
-- as long, for it tells more of each.
CREATE TABLE digest.pattern AS
SELECT row_number() OVER (ORDER BY dur DESC, pattern, kind, culprit, role, role_rule) AS pattern_id,
    * EXCLUDE (dur)
FROM (
    SELECT kind, culprit, role, role_rule, pattern, sum(dur)::BIGINT AS dur
    FROM inversion
    GROUP BY kind, culprit, role, role_rule, pattern
)
