-- Requests $1 with their threads, outer before inner ones.
SELECT request_id, parent_request_id, name, ts, request.dur, comm, tid, pid, role
FROM request JOIN task USING (utid)
WHERE list_contains($1::INTEGER[], request_id)
ORDER BY ts, request.dur DESC, request_id
