-- What a segment is about, beside what path_rows says of it; in the same order.
SELECT
    segment.segment_id,
    segment.utid,
    task.tid,
    segment.io_id,
    io.sector,
    submitter.tid
FROM segment
LEFT JOIN task USING (utid)
LEFT JOIN io ON io.io_id = segment.io_id
LEFT JOIN task AS submitter ON submitter.utid = io.submitter_utid
WHERE segment.request_id = $1
ORDER BY segment.segment_id
