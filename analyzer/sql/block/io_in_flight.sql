-- +1 when an io enters a stage and -1 when it leaves; the running sum is the number of ios in it.
-- depends: block.io

CREATE VIEW io_in_flight AS
WITH step AS (
    SELECT dev, queued_ns AS ts, 1 AS in_queue, 0 AS at_device FROM io
    UNION ALL
    SELECT dev, issued_ns, -1, 1 FROM io
    UNION ALL
    SELECT dev, completed_ns, 0, -1 FROM io
), together AS (
    SELECT dev, ts, sum(in_queue) AS in_queue, sum(at_device) AS at_device
    FROM step
    GROUP BY dev, ts
)
SELECT
    dev,
    ts,
    (sum(in_queue) OVER device)::BIGINT AS n_queued,
    (sum(at_device) OVER device)::BIGINT AS n_at_device
FROM together
WINDOW device AS (PARTITION BY dev ORDER BY ts);

COMMENT ON VIEW io_in_flight IS 'number of ios in flight per device, one row per change';
COMMENT ON COLUMN io_in_flight.dev IS 'device number, major << 20 | minor';
COMMENT ON COLUMN io_in_flight.ts IS 'time of the change';
COMMENT ON COLUMN io_in_flight.n_queued IS 'ios queued but not issued (Q to D)';
COMMENT ON COLUMN io_in_flight.n_at_device IS 'ios issued but not completed (D to C)';
