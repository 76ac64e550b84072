-- Who held requests up. Not a sum over patterns: a culprit may do it to one request in several ways.
SELECT kind || ' by ' || culprit AS who, count(DISTINCT request_id), sum(inversion.dur)::BIGINT
FROM inversion
JOIN digest.chosen($1, $2) AS chosen USING (request_id)
GROUP BY who
ORDER BY who
