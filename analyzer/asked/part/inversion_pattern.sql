-- The patterns of the requests of a part, with the numbers that they have in the recording.
CREATE TEMP VIEW inversion_pattern AS
SELECT number.rank, part.* EXCLUDE (rank)
FROM pattern_of_part AS part
JOIN pattern_number AS number
    ON number.kind = part.kind
    AND number.culprit = part.culprit
    AND number.role = part.role
    AND number.role_rule IS NOT DISTINCT FROM part.role_rule
    AND number.pattern = part.pattern
