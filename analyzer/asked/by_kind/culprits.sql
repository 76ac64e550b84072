-- What held requests of each name and role up, by kind of inversion and culprit. Not a sum over
-- patterns: a request may be held up by one culprit in several ways.
SELECT name, task.role, kind || ' by ' || culprit, count(DISTINCT request_id),
    sum(inversion.dur)::BIGINT
FROM inversion JOIN request USING (request_id) JOIN task USING (utid)
GROUP BY ALL
