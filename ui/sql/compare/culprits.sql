-- Requests and time by culprit. Not a sum over patterns: one request may have several of a culprit.
WITH shown AS (
    SELECT pattern_id, min(pattern_id) OVER (PARTITION BY kind, culprit) AS shown_id
    FROM digest.pattern
), found AS (
    SELECT shown_id, count(DISTINCT request_id) AS n, sum(held.dur)::BIGINT AS dur
    FROM digest.request_pattern AS held
    JOIN digest.chosen($1, $2) AS chosen USING (request_id)
    JOIN shown USING (pattern_id)
    GROUP BY shown_id
)
SELECT named.kind || ' by ' || named.culprit AS who, found.n, found.dur
FROM found
JOIN digest.pattern AS named ON named.pattern_id = found.shown_id
ORDER BY who
