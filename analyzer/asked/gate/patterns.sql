-- Inversions of the requests of _window by pattern.
SELECT pattern || ': ' || kind || ' by ' || culprit, count(DISTINCT request_id),
    sum(inversion.dur)::BIGINT
FROM inversion JOIN _window USING (request_id) GROUP BY ALL
