-- Threads, with the time of foreground requests that is blamed on each.
SELECT task.utid, task.pid, task.tid, task.comm, task.own_comm, task.role, task.cgroup_id,
    coalesce(sum(inversion.dur), 0)::BIGINT AS blamed_ns
FROM task
LEFT JOIN inversion ON inversion.culprit_utid = task.utid
GROUP BY ALL
ORDER BY task.utid
