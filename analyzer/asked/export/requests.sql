-- Requests that overlap [$1, $2) with the total time of their inversions, outer before inner ones.
SELECT request_id, utid, name, ts, request.dur, ret, role,
    (SELECT coalesce(sum(dur), 0)::BIGINT FROM inversion
        WHERE inversion.request_id = request.request_id)
FROM request JOIN task USING (utid)
WHERE ts < $2 AND (request.dur IS NULL OR ts + request.dur >= $1)
ORDER BY ts, request.dur DESC NULLS FIRST, request_id
