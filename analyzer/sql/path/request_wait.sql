-- The top of every path: sleeps of the request's own thread, and what it did between them.
-- Together they cover the request exactly, as the segments below them do.
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

COMMENT ON VIEW request_wait IS 'what each request''s own thread did and waited for';
COMMENT ON COLUMN request_wait.request_id IS 'the request';
COMMENT ON COLUMN request_wait.reason IS 'cpu, runqueue, or what the sleep waited for';
COMMENT ON COLUMN request_wait.ts IS 'start';
COMMENT ON COLUMN request_wait.dur IS 'length in ns';
