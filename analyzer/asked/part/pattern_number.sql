-- The numbers of the recording's patterns, as its view inversion_pattern has them: #2 is the same in
-- the report of a part. "recording" stands for the database of the recording.
CREATE TEMP TABLE pattern_number AS
SELECT
    row_number() OVER (
        ORDER BY sum(dur)::BIGINT DESC, pattern, kind, culprit, role, role_rule
    ) AS rank,
    kind, culprit, role, role_rule, pattern
FROM "recording".main.inversion
GROUP BY kind, culprit, role, role_rule, pattern
