-- Requests and time by culprit. Not a sum over patterns: one request may have several of a culprit.
SELECT kind || ' by ' || culprit AS who, count(DISTINCT request_id), sum(inversion.dur)::BIGINT
FROM inversion
JOIN digest.chosen($1, $2) AS chosen USING (request_id)
GROUP BY who
ORDER BY who
