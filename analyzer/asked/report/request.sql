-- Request $1, and how long inversions held it up.
SELECT
    request_id, name, comm, tid, role, ts, request.dur,
    (SELECT coalesce(sum(dur), 0)::BIGINT FROM inversion WHERE request_id = $1)
FROM request
JOIN task USING (utid)
WHERE request_id = $1
