-- A woken thread waits for a CPU from woken_ns to run_ns; a preempted one was never asleep.
-- depends: sched.sleep
-- depends: base.task

CREATE VIEW runqueue_wait AS
SELECT
    sleep.sleep_id,
    sleep.utid,
    sleep.woken_ns AS ts,
    sleep.run_ns - sleep.woken_ns AS dur,
    sleep.is_cpu_max,
    sleep.cpu,
    sleep.ran_utid,
    ran.comm AS ran_comm,
    ran.role AS ran_role
FROM sleep
LEFT JOIN task AS ran ON ran.utid = sleep.ran_utid
WHERE NOT sleep.is_first_seen
  AND sleep.run_ns > sleep.woken_ns;

COMMENT ON VIEW runqueue_wait IS 'intervals in which a thread was runnable but not running';
COMMENT ON COLUMN runqueue_wait.sleep_id IS 'the off-CPU interval it ends';
COMMENT ON COLUMN runqueue_wait.utid IS 'the thread';
COMMENT ON COLUMN runqueue_wait.ts IS 'became runnable, or lost the CPU';
COMMENT ON COLUMN runqueue_wait.dur IS 'ns until it ran';
COMMENT ON COLUMN runqueue_wait.is_cpu_max IS 'mostly because its cgroup, or one above, had used up its cpu.max: then who ran instead was not in its way';
COMMENT ON COLUMN runqueue_wait.cpu IS 'CPU it ran on';
COMMENT ON COLUMN runqueue_wait.ran_utid IS 'thread that had that CPU right before it: the last one that ran instead';
COMMENT ON COLUMN runqueue_wait.ran_comm IS 'its name';
COMMENT ON COLUMN runqueue_wait.ran_role IS 'its role';
