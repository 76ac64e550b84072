-- Other ios that were under way on the device while an io of the path waited or was served: how
-- many, their bytes, and whose most of them were. $1: the request.
WITH own AS (
    SELECT segment.segment_id, segment.ts, segment.dur, io.io_id, io.dev
    FROM segment
    JOIN io USING (io_id)
    WHERE segment.request_id = $1
      AND segment.kind <> 'interrupt'
), extent AS (
    SELECT min(ts) AS lo, max(ts + dur) AS hi FROM own
), near AS (
    SELECT io_id, dev, queued_ns, completed_ns, bytes, submitter_utid
    FROM io, extent
    WHERE io.queued_ns < extent.hi
      AND io.completed_ns > extent.lo
), beside AS (
    SELECT own.segment_id, near.bytes, task.comm
    FROM own
    JOIN near ON near.dev = own.dev
        AND near.io_id <> own.io_id
        AND near.queued_ns < own.ts + own.dur
        AND near.completed_ns > own.ts
    LEFT JOIN task ON task.utid = near.submitter_utid
)
SELECT segment_id, count(*) AS n, sum(bytes)::BIGINT AS bytes, mode(comm)
FROM beside
GROUP BY segment_id
