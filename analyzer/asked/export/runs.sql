-- Runs of threads on CPUs in [$1, $2), and how each ended. A thread is known by its first utid.
SELECT on_cpu.cpu, on_cpu.ts, task.thread_utid,
    coalesce(on_cpu.ts + on_cpu.dur, if(task.exit_ns >= on_cpu.ts, task.exit_ns, NULL)),
    coalesce(left_as, if(task.exit_ns IS NULL, NULL, 'exited')), ran.thread_utid,
    sleep.woken_ns
FROM on_cpu
JOIN task USING (utid)
JOIN sleep USING (sleep_id)
LEFT JOIN task AS ran ON ran.utid = sleep.ran_utid
-- After its exit event a thread runs on for a while, and may be preempted.
WHERE on_cpu.ts < $2
  AND (on_cpu.dur IS NULL OR on_cpu.ts + on_cpu.dur >= $1)
