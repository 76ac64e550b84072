-- The top level of every path: the sleeps of the request's own thread and its other segments.
-- Together they cover the request exactly, like the segments at all depths.
-- depends: path.edge
-- depends: path.segment

CREATE VIEW request_wait AS
SELECT request_id, reason, ts, dur
FROM edge
WHERE depth = 0
UNION ALL
SELECT request_id, kind, ts, dur
FROM segment
WHERE depth = 0;

COMMENT ON VIEW request_wait IS 'states and waits of each request''s own thread';
COMMENT ON COLUMN request_wait.request_id IS 'the request';
COMMENT ON COLUMN request_wait.reason IS 'cpu, interrupt, runqueue, or what the sleep waited for';
COMMENT ON COLUMN request_wait.ts IS 'start';
COMMENT ON COLUMN request_wait.dur IS 'length in ns';
