-- wait_by_reason for each kind of request.
-- depends: path.request_wait
-- depends: base.request
-- depends: base.task

CREATE VIEW wait_by_kind AS
SELECT
    request.name,
    task.role,
    request_wait.reason,
    count(*) AS n,
    count(DISTINCT request_wait.request_id) AS n_requests,
    sum(request_wait.dur)::BIGINT AS dur
FROM request_wait
JOIN request USING (request_id)
JOIN task USING (utid)
GROUP BY ALL
ORDER BY request.name, task.role, sum(request_wait.dur) DESC, request_wait.reason;

COMMENT ON VIEW wait_by_kind IS 'where finished requests of each name and role spent their time';
COMMENT ON COLUMN wait_by_kind.name IS 'name of the requests';
COMMENT ON COLUMN wait_by_kind.role IS 'role of their threads';
COMMENT ON COLUMN wait_by_kind.reason IS 'cpu, runqueue, or what sleeps waited for';
COMMENT ON COLUMN wait_by_kind.n IS 'number of waits';
COMMENT ON COLUMN wait_by_kind.n_requests IS 'requests with at least one such wait';
COMMENT ON COLUMN wait_by_kind.dur IS 'total ns';
