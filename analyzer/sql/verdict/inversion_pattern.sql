-- Groups inversions by kind, culprit and chain shape, so that ten thousand slow requests of one
-- cause are one row. A request is slow if it is among the slowest 1 % of the finished foreground
-- requests of its name. asked/pattern/numbered.sql, which a view in a recording cannot read, has
-- the same order of the numbers; ui/tests/parts/test_numbers.py holds the two equal.
-- depends: verdict.inversion
-- depends: verdict.request_latency
-- depends: base.request
-- depends: base.task

CREATE VIEW inversion_pattern AS
WITH slow_limit AS (
    SELECT name, p99_dur
    FROM request_latency
    WHERE role = 'foreground'
), slow AS (
    SELECT request.request_id, request.dur
    FROM request
    JOIN task USING (utid)
    JOIN slow_limit USING (name)
    WHERE task.role = 'foreground'
      AND request.dur >= slow_limit.p99_dur
), grouped AS (
    SELECT
        inversion.kind,
        inversion.culprit,
        inversion.role,
        inversion.role_rule,
        inversion.pattern,
        count(DISTINCT inversion.request_id) AS n_requests,
        sum(inversion.dur)::BIGINT AS dur,
        max(inversion.dur) AS max_dur,
        coalesce(sum(inversion.dur) FILTER (slow.request_id IS NOT NULL), 0)::DOUBLE
            / nullif((SELECT sum(dur) FROM slow), 0) AS slow_share,
        sum(inversion.confidence * inversion.dur) / nullif(sum(inversion.dur), 0) AS confidence,
        arg_max(inversion.request_id, inversion.dur) AS worst_request_id
    FROM inversion
    LEFT JOIN slow ON slow.request_id = inversion.request_id
    GROUP BY ALL
)
SELECT
    row_number() OVER (ORDER BY dur DESC, pattern, kind, culprit, role, role_rule) AS rank,
    kind, culprit, role, role_rule, pattern, n_requests, dur, max_dur, slow_share, confidence,
    worst_request_id
FROM grouped;

COMMENT ON VIEW inversion_pattern IS 'inversions grouped by pattern, the costliest first';
COMMENT ON COLUMN inversion_pattern.rank IS 'rank by total time, from 1';
COMMENT ON COLUMN inversion_pattern.kind IS 'lock, condition, io_dependency, admission_slot, admission_tag, dirty_throttle, queue, device, flush, refault, cpu, cpu_max or interrupt';
COMMENT ON COLUMN inversion_pattern.culprit IS 'name of the culprits, without numbers';
COMMENT ON COLUMN inversion_pattern.role IS 'their role';
COMMENT ON COLUMN inversion_pattern.role_rule IS 'rule that assigned the role';
COMMENT ON COLUMN inversion_pattern.pattern IS 'shape of the chain';
COMMENT ON COLUMN inversion_pattern.n_requests IS 'requests held up';
COMMENT ON COLUMN inversion_pattern.dur IS 'total ns';
COMMENT ON COLUMN inversion_pattern.max_dur IS 'largest ns in one request';
COMMENT ON COLUMN inversion_pattern.slow_share IS 'share of the time of the slowest 1 % of requests';
COMMENT ON COLUMN inversion_pattern.confidence IS 'mean confidence, weighted by time';
COMMENT ON COLUMN inversion_pattern.worst_request_id IS 'request that it held up longest';
