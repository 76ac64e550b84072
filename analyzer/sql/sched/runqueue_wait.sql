-- A woken thread waits for a CPU from woken_ns to run_ns; a preempted one was never asleep.
-- depends: sched.sleep

CREATE VIEW runqueue_wait AS
SELECT sleep_id, utid, woken_ns AS ts, run_ns - woken_ns AS dur, cpu
FROM sleep
WHERE NOT is_first_seen
  AND run_ns > woken_ns;

COMMENT ON VIEW runqueue_wait IS 'intervals in which a thread was runnable but not running';
COMMENT ON COLUMN runqueue_wait.sleep_id IS 'the off-CPU interval it ends';
COMMENT ON COLUMN runqueue_wait.utid IS 'the thread';
COMMENT ON COLUMN runqueue_wait.ts IS 'became runnable, or lost the CPU';
COMMENT ON COLUMN runqueue_wait.dur IS 'ns until it ran';
COMMENT ON COLUMN runqueue_wait.cpu IS 'CPU it ran on';
