-- A thread has a CPU from the end of one off-CPU interval to the beginning of its next one.
-- depends: base.task
-- depends: sched.sleep

CREATE VIEW on_cpu AS
SELECT
    sleep.utid,
    run_ns AS ts,
    lead(ts) OVER thread - run_ns AS dur,
    cpu,
    CASE
        WHEN lead(is_preempted) OVER thread THEN 'preempted'
        WHEN lead(is_uninterruptible) OVER thread THEN 'uninterruptible'
        WHEN lead(sleep_id) OVER thread IS NOT NULL THEN 'interruptible'
    END AS left_as,
    sleep_id
FROM sleep
JOIN task USING (utid)
WINDOW thread AS (PARTITION BY thread_utid ORDER BY run_ns, sleep_id);

COMMENT ON VIEW on_cpu IS 'intervals in which a thread ran on a CPU';
COMMENT ON COLUMN on_cpu.utid IS 'the thread';
COMMENT ON COLUMN on_cpu.ts IS 'got the CPU';
COMMENT ON COLUMN on_cpu.dur IS 'ns until it left the CPU, NULL when that was not recorded';
COMMENT ON COLUMN on_cpu.cpu IS 'the CPU';
COMMENT ON COLUMN on_cpu.left_as IS 'how it left: preempted, interruptible or uninterruptible sleep, NULL when not recorded';
COMMENT ON COLUMN on_cpu.sleep_id IS 'the off-CPU interval that ended when it got the CPU';
