-- depends: base.request
-- depends: base.task

CREATE VIEW request_latency AS
WITH inside AS (
    SELECT parent_request_id AS request_id, count(*) AS n_children
    FROM request
    WHERE parent_request_id IS NOT NULL
    GROUP BY parent_request_id
)
SELECT
    request.name,
    task.role,
    count(*) AS n,
    avg(request.dur) AS avg_dur,
    quantile_disc(request.dur, 0.5) AS p50_dur,
    quantile_disc(request.dur, 0.99) AS p99_dur,
    quantile_disc(request.dur, 0.999) AS p999_dur,
    max(request.dur) AS max_dur,
    sum(request.dur)::BIGINT AS dur,
    coalesce(sum(inside.n_children), 0)::BIGINT AS n_children
FROM request
JOIN task USING (utid)
LEFT JOIN inside USING (request_id)
WHERE request.dur IS NOT NULL
GROUP BY request.name, task.role
ORDER BY sum(request.dur) DESC, request.name, task.role;

COMMENT ON VIEW request_latency IS 'latency of finished requests by name and role';
COMMENT ON COLUMN request_latency.name IS 'syscall, name of the probe points, or socket';
COMMENT ON COLUMN request_latency.role IS 'role of their threads';
COMMENT ON COLUMN request_latency.n IS 'number of requests';
COMMENT ON COLUMN request_latency.avg_dur IS 'mean ns';
COMMENT ON COLUMN request_latency.p50_dur IS 'median in ns';
COMMENT ON COLUMN request_latency.p99_dur IS '99th percentile in ns';
COMMENT ON COLUMN request_latency.p999_dur IS '99.9th percentile in ns';
COMMENT ON COLUMN request_latency.max_dur IS 'longest in ns';
COMMENT ON COLUMN request_latency.dur IS 'total ns';
COMMENT ON COLUMN request_latency.n_children IS 'requests directly inside these, such as the fsyncs of a transaction';
