-- Inversions with the number of their pattern.
CREATE TABLE digest.held AS
SELECT
    inversion.request_id,
    pattern.pattern_id,
    inversion.culprit_utid,
    inversion.dur,
    inversion.confidence
FROM inversion
JOIN digest.pattern AS pattern USING (kind, culprit, role, role_rule, pattern)
