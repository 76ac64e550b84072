-- Segments of the critical paths of the requests whose bit in $1 is set, $2 is the last one; -1 for
-- none, 0 for no io. kind: 0 unless it is 1, in a queue or at a device; 2, runnable; 3, on a CPU or
-- not known; 4, in an interrupt that ends its io.
-- They come in the order in which they are stored: a join with requests in place of the
-- bits loses it, and sorting millions takes as long as reading them.
SELECT segment_id, request_id, ts, dur,
    coalesce(utid, -1) AS utid,
    coalesce(io_id, 0) AS io_id,
    coalesce(edge_id, -1) AS edge_id,
    CASE kind
        WHEN 'queue' THEN 1 WHEN 'device' THEN 1
        WHEN 'runqueue' THEN 2
        WHEN 'cpu' THEN 3 WHEN 'unknown' THEN 3
        WHEN 'interrupt' THEN 4
        ELSE 0
    END::TINYINT AS kind
FROM segment
WHERE CASE WHEN request_id BETWEEN 0 AND $2 THEN get_bit($1::BIT, request_id) = 1 END
