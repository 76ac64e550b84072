-- Changes of threads' names and cgroups in words, and whether they changed the role; $1 is the
-- beginning of the recording.
SELECT comm || ' (tid ' || tid || '): '
        || if(old_role = role, role, old_role || ' until +' || round((ts - $1) / 1e9, 3) || ' s, then '
            || role)
        || if(old_comm = comm, '; its cgroup changed', '; its name was ' || old_comm),
    old_role <> role
FROM task_change
ORDER BY ts, utid
