-- Number of requests, and quantiles of their latencies. $1: role of the requests' threads ('' for
-- any), $2: their name ('' for outermost ones, see answer/counts), $3: shares, 0 to 1.
WITH nested AS (
    SELECT request.request_id
    FROM request
    JOIN request AS parent ON parent.request_id = request.parent_request_id
    WHERE parent.dur IS NOT NULL
      AND parent.name <> request.name
)
SELECT count(*), quantile_disc(request.dur, $3::DOUBLE[])
FROM request
JOIN task USING (utid)
WHERE request.dur IS NOT NULL
  AND ($1 = '' OR task.role = $1)
  AND if($2 = '', request.request_id NOT IN (FROM nested), request.name = $2)
