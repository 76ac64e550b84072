-- A writer sleeps right after the decision to pause it. If a decision was lost, its sleep must not
-- be joined to the previous decision, so only the first sleep after each decision counts.
-- depends: block.throttle
-- depends: sched.sleep

CREATE VIEW throttle_wait AS
SELECT
    sleep.sleep_id,
    throttle.throttle_id,
    sleep.utid,
    sleep.ts,
    sleep.dur,
    throttle.pause_dur,
    throttle.dirty_pages,
    throttle.limit_pages,
    throttle.dirtied_pages,
    throttle.task_ratelimit_kibps
FROM (
    SELECT sleep_id, utid, ts, dur
    FROM sleep
    WHERE reason = 'dirty_throttle'
      AND NOT is_first_seen
      AND NOT is_preempted
) AS sleep
ASOF JOIN (
    SELECT *
    FROM throttle
    WHERE pause_dur > 0
) AS throttle ON throttle.utid = sleep.utid AND sleep.ts >= throttle.ts
QUALIFY row_number() OVER (PARTITION BY throttle.throttle_id ORDER BY sleep.ts) = 1;

COMMENT ON VIEW throttle_wait IS 'sleeps of throttled writers, with the decision that led to each';
COMMENT ON COLUMN throttle_wait.sleep_id IS 'the sleep';
COMMENT ON COLUMN throttle_wait.throttle_id IS 'the decision that led to it';
COMMENT ON COLUMN throttle_wait.utid IS 'the writer';
COMMENT ON COLUMN throttle_wait.ts IS 'fell asleep';
COMMENT ON COLUMN throttle_wait.dur IS 'ns asleep';
COMMENT ON COLUMN throttle_wait.pause_dur IS 'ns of pause that were decided';
COMMENT ON COLUMN throttle_wait.dirty_pages IS 'dirty pages counted against the limit';
COMMENT ON COLUMN throttle_wait.limit_pages IS 'dirty limit of the machine or memory cgroup';
COMMENT ON COLUMN throttle_wait.dirtied_pages IS 'pages the writer dirtied since its last pause';
COMMENT ON COLUMN throttle_wait.task_ratelimit_kibps IS 'rate given to the writer in KiB/s';
