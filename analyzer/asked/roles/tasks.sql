-- Threads with their role and activity, the busiest of each rule first.
SELECT utid, role, role_rule, comm, tid, pid, cpu_dur, runqueue_dur, asleep_dur, n_ios, io_bytes
FROM task
JOIN task_activity USING (utid)
WHERE utid <> 0 AND NOT is_recorder
ORDER BY list_position(['foreground', 'background', 'unknown', 'kernel'], role), role_rule,
    cpu_dur + runqueue_dur DESC, utid
