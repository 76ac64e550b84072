-- depends: base.request
-- depends: base.task
-- depends: block.policy_event
-- depends: path.request_policy

CREATE VIEW policy_by_kind AS
WITH felt AS (
    SELECT
        policy_event_id,
        sum(request_policy.dur)::BIGINT AS dur,
        list(DISTINCT request_policy.request_id) AS requests
    FROM request_policy
    JOIN request USING (request_id)
    JOIN task USING (utid)
    WHERE task.role = 'foreground'
    GROUP BY policy_event_id
)
SELECT
    policy_event.kind,
    coalesce(task.role, 'unknown') AS role,
    policy_event.level,
    count(*) AS n,
    coalesce(sum(policy_event.dur), 0)::BIGINT AS dur,
    max(policy_event.dur) AS max_dur,
    len(list_distinct(flatten(list(coalesce(felt.requests, [])))))::BIGINT AS n_requests,
    coalesce(sum(felt.dur), 0)::BIGINT AS foreground_dur
FROM policy_event
LEFT JOIN task USING (utid)
LEFT JOIN felt USING (policy_event_id)
GROUP BY policy_event.kind, coalesce(task.role, 'unknown'), policy_event.level
ORDER BY sum(policy_event.dur) DESC NULLS LAST, policy_event.kind, role, policy_event.level;

COMMENT ON VIEW policy_by_kind IS 'totals of the kernel policies'' decisions';
COMMENT ON COLUMN policy_by_kind.kind IS 'io_held, io_starved, slot_wait, dirty_pause or mark; NULL for one that this rcp does not know';
COMMENT ON COLUMN policy_by_kind.role IS 'role of the thread that waited or was marked, or submitted the io';
COMMENT ON COLUMN policy_by_kind.level IS 'critical or noncritical: the class it was about, or the new mark (none: removed); NULL when not known';
COMMENT ON COLUMN policy_by_kind.n IS 'number of decisions';
COMMENT ON COLUMN policy_by_kind.dur IS 'total ns waited; concurrent waits add up';
COMMENT ON COLUMN policy_by_kind.max_dur IS 'longest wait in ns, NULL for marks';
COMMENT ON COLUMN policy_by_kind.n_requests IS 'foreground requests with one on their critical path';
COMMENT ON COLUMN policy_by_kind.foreground_dur IS 'ns of such waits on foreground requests'' critical paths';
