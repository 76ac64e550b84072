-- Request $1, and the total time of its inversions.
SELECT
    request_id, name, comm, tid, role, ts, request.dur,
    (SELECT coalesce(sum(dur), 0)::BIGINT FROM inversion WHERE request_id = $1)
FROM request
JOIN task USING (utid)
WHERE request_id = $1
