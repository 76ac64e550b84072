-- depends: base.task
-- depends: sched.sleep
-- depends: sched.on_cpu
-- depends: block.io

CREATE VIEW task_activity AS
WITH off AS (
    SELECT
        utid,
        sum(dur)::BIGINT AS asleep_dur,
        sum(run_ns - woken_ns)::BIGINT AS runqueue_dur,
        count(*) FILTER (NOT is_preempted) AS n_sleeps
    FROM sleep
    WHERE NOT is_first_seen
    GROUP BY utid
), ran AS (
    SELECT utid, sum(dur)::BIGINT AS cpu_dur
    FROM on_cpu
    GROUP BY utid
), submitted AS (
    SELECT submitter_utid AS utid, count(*) AS n_ios, sum(bytes)::BIGINT AS io_bytes
    FROM io
    GROUP BY submitter_utid
)
SELECT
    task.utid,
    coalesce(ran.cpu_dur, 0) AS cpu_dur,
    coalesce(off.runqueue_dur, 0) AS runqueue_dur,
    coalesce(off.asleep_dur, 0) AS asleep_dur,
    coalesce(off.n_sleeps, 0) AS n_sleeps,
    coalesce(submitted.n_ios, 0) AS n_ios,
    coalesce(submitted.io_bytes, 0) AS io_bytes
FROM task
LEFT JOIN off USING (utid)
LEFT JOIN ran USING (utid)
LEFT JOIN submitted USING (utid);

COMMENT ON VIEW task_activity IS 'time per state and ios of each thread while it was recorded';
COMMENT ON COLUMN task_activity.utid IS 'the thread';
COMMENT ON COLUMN task_activity.cpu_dur IS 'ns on a CPU, between its first and last off-CPU interval';
COMMENT ON COLUMN task_activity.runqueue_dur IS 'ns runnable but not running';
COMMENT ON COLUMN task_activity.asleep_dur IS 'ns asleep';
COMMENT ON COLUMN task_activity.n_sleeps IS 'times it fell asleep';
COMMENT ON COLUMN task_activity.n_ios IS 'ios it submitted';
COMMENT ON COLUMN task_activity.io_bytes IS 'bytes of these ios';
