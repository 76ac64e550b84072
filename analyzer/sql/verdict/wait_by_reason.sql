-- LatencyTOP's table for foreground requests: every nanosecond is in exactly one row. Only outermost
-- requests count: an fsync in a transaction would count twice otherwise.
-- depends: path.request_wait
-- depends: base.request
-- depends: base.task

CREATE VIEW wait_by_reason AS
SELECT
    request_wait.reason,
    count(*) AS n,
    avg(request_wait.dur) AS avg_dur,
    quantile_disc(request_wait.dur, 0.99) AS p99_dur,
    max(request_wait.dur) AS max_dur,
    sum(request_wait.dur)::BIGINT AS dur,
    sum(request_wait.dur) / sum(sum(request_wait.dur)) OVER () AS share
FROM request_wait
JOIN request USING (request_id)
JOIN task USING (utid)
WHERE task.role = 'foreground'
  AND request.parent_request_id IS NULL
GROUP BY request_wait.reason
ORDER BY sum(request_wait.dur) DESC, request_wait.reason;

COMMENT ON VIEW wait_by_reason IS 'where finished outermost foreground requests spent their time, the costliest first';
COMMENT ON COLUMN wait_by_reason.reason IS 'cpu, runqueue, or what sleeps waited for';
COMMENT ON COLUMN wait_by_reason.n IS 'number of waits';
COMMENT ON COLUMN wait_by_reason.avg_dur IS 'mean ns';
COMMENT ON COLUMN wait_by_reason.p99_dur IS '99th percentile in ns';
COMMENT ON COLUMN wait_by_reason.max_dur IS 'longest in ns';
COMMENT ON COLUMN wait_by_reason.dur IS 'total ns';
COMMENT ON COLUMN wait_by_reason.share IS 'share of all these requests'' time, 0 to 1';
