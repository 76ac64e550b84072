-- Start and duration of every request, in order; -1 for one that did not finish.
SELECT ts, coalesce(dur, -1) AS dur
FROM request
ORDER BY request_id
