-- A task that a policy delays sleeps once or several times before it continues.
-- depends: block.policy_event
-- depends: sched.sleep

CREATE VIEW policy_wait AS
SELECT
    sleep.sleep_id,
    waited.policy_event_id,
    waited.kind,
    sleep.utid,
    sleep.ts,
    sleep.dur
FROM (
    SELECT sleep_id, utid, ts, dur
    FROM sleep
    WHERE NOT is_first_seen
      AND NOT is_preempted
) AS sleep
ASOF JOIN (
    SELECT *
    FROM policy_event
    WHERE kind IN ('slot_wait', 'dirty_pause')
) AS waited ON waited.utid = sleep.utid AND sleep.ts >= waited.ts
WHERE sleep.ts < waited.ts + waited.dur;

COMMENT ON VIEW policy_wait IS 'sleeps of threads that a policy of the patched kernel delayed';
COMMENT ON COLUMN policy_wait.sleep_id IS 'the sleep';
COMMENT ON COLUMN policy_wait.policy_event_id IS 'the decision that led to it';
COMMENT ON COLUMN policy_wait.kind IS 'slot_wait or dirty_pause';
COMMENT ON COLUMN policy_wait.utid IS 'the sleeper';
COMMENT ON COLUMN policy_wait.ts IS 'fell asleep';
COMMENT ON COLUMN policy_wait.dur IS 'ns asleep';
