-- What is left of the $4-th slowest request when the time in one pattern of inversions is subtracted
-- from each. $1, $2: see ends; $3: only requests that took longer are looked at; $5 to $8: the
-- pattern. No row when fewer than $4 of them still take longer than $3: those looked at do not
-- tell then.
WITH nested AS (
    SELECT request.request_id
    FROM request
    JOIN request AS parent ON parent.request_id = request.parent_request_id
    WHERE request.dur > $3
      AND parent.dur IS NOT NULL
      AND parent.name <> request.name
), chosen AS (
    SELECT request.request_id, request.dur
    FROM request
    JOIN task USING (utid)
    WHERE request.dur > $3
      AND ($1 = '' OR task.role = $1)
      AND if($2 = '', request.request_id NOT IN (FROM nested), request.name = $2)
), blamed AS (
    SELECT request_id, sum(dur)::BIGINT AS dur
    FROM inversion
    WHERE kind = $5
      AND culprit = $6
      AND role_rule = $7
      AND pattern = $8
      AND request_id IN (SELECT request_id FROM chosen)
    GROUP BY request_id
)
SELECT chosen.dur - coalesce(blamed.dur, 0) AS left_ns
FROM chosen
LEFT JOIN blamed USING (request_id)
WHERE left_ns > $3
ORDER BY left_ns DESC
LIMIT 1 OFFSET $4 - 1
