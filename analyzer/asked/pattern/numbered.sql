-- The patterns of inversions with their numbers: the #1, #2 … of the report, the what-ifs and the
-- explorer. The order is that of the view inversion_pattern, which takes ten times as long, for it
-- tells more of each; ui/tests/parts/test_numbers.py holds the two equal.
SELECT
    row_number() OVER (ORDER BY dur DESC, pattern, kind, culprit, role, role_rule) AS rank,
    kind, culprit, role, role_rule, pattern
FROM (
    SELECT kind, culprit, role, role_rule, pattern, sum(dur)::BIGINT AS dur
    FROM inversion
    GROUP BY kind, culprit, role, role_rule, pattern
)
