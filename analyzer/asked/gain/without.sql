-- A quantile of requests' latencies, as it is and without the time in one pattern of inversions.
-- $1: role of the requests' threads ('' for any), $2: their name ('' for outermost ones, see
-- answer/counts), $3: quantile, 0 to 1, $4 to $7: the pattern.
WITH nested AS (
    SELECT request.request_id
    FROM request
    JOIN request AS parent ON parent.request_id = request.parent_request_id
    WHERE parent.dur IS NOT NULL
      AND parent.name <> request.name
), chosen AS (
    SELECT request.request_id, request.dur
    FROM request
    JOIN task USING (utid)
    WHERE request.dur IS NOT NULL
      AND ($1 = '' OR task.role = $1)
      AND if($2 = '', request.request_id NOT IN (FROM nested), request.name = $2)
), blamed AS (
    SELECT request_id, sum(dur)::BIGINT AS dur
    FROM inversion
    WHERE kind = $4
      AND culprit = $5
      AND role_rule = $6
      AND pattern = $7
    GROUP BY request_id
)
SELECT
    quantile_disc(chosen.dur, $3::DOUBLE),
    quantile_disc(chosen.dur - coalesce(blamed.dur, 0), $3::DOUBLE)
FROM chosen
LEFT JOIN blamed USING (request_id)
