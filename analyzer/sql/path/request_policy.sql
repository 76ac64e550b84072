-- Decisions that delayed something on the path: an io in the scheduler, or a task that slept. An io
-- that was held and then dispatched by the starvation timer has two rows of the same time.
-- depends: block.policy_event
-- depends: block.policy_wait
-- depends: path.edge
-- depends: path.segment

CREATE VIEW request_policy AS
SELECT edge.request_id, policy_wait.policy_event_id, policy_wait.kind, edge.ts, edge.dur
FROM edge
JOIN policy_wait USING (sleep_id)
UNION ALL
SELECT
    segment.request_id, policy_event.policy_event_id, policy_event.kind, segment.ts, segment.dur
FROM segment
JOIN policy_event USING (io_id)
WHERE segment.kind = 'queue';

COMMENT ON VIEW request_policy IS 'decisions of the kernel''s policies on critical paths';
COMMENT ON COLUMN request_policy.request_id IS 'request whose critical path it is on';
COMMENT ON COLUMN request_policy.policy_event_id IS 'the decision';
COMMENT ON COLUMN request_policy.kind IS 'io_held, io_starved, slot_wait or dirty_pause; NULL for one that this rcp does not know';
COMMENT ON COLUMN request_policy.ts IS 'start of the part that is on the path';
COMMENT ON COLUMN request_policy.dur IS 'its length in ns';
