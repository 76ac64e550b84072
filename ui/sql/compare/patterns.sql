-- Inversion patterns by stretch ($3 stretches): requests, time, time weighted by confidence, and the
-- longest inversion with the role rule of its culprit.
WITH placed AS (
    SELECT request_id, ntile($3) OVER (ORDER BY ts, request_id) - 1 AS stretch
    FROM digest.chosen($1, $2)
)
SELECT
    pattern, kind, culprit, role, stretch,
    count(DISTINCT request_id), sum(inversion.dur)::BIGINT, sum(confidence * inversion.dur),
    max(inversion.dur), max_by(role_rule, (inversion.dur, role_rule))
FROM inversion
JOIN placed USING (request_id)
GROUP BY pattern, kind, culprit, role, stretch
ORDER BY pattern, kind, culprit, role, stretch
