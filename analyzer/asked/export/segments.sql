-- Segments of the critical paths of requests $1.
SELECT request_id, ts, dur, kind, edge_id, task.comm, io_id, op, submitter.comm
FROM segment
LEFT JOIN task USING (utid)
LEFT JOIN io USING (io_id)
LEFT JOIN task AS submitter ON submitter.utid = io.submitter_utid
WHERE list_contains($1::INTEGER[], request_id)
ORDER BY segment_id
