-- Inversions of requests by name and role, by kind of inversion and culprit. Not a sum over
-- patterns: one culprit may hold up a request in several ways.
SELECT name, task.role, kind || ' by ' || culprit, count(DISTINCT request_id),
    sum(inversion.dur)::BIGINT
FROM inversion JOIN request USING (request_id) JOIN task USING (utid)
GROUP BY ALL
