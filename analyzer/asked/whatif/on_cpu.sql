-- When tasks ran, on which CPU, as view on_cpu has it: the culprits ($1) and, if $2, all kernel
-- threads, which work for others. Of a million requests that view takes two seconds, to look at all
-- threads before these are chosen.
WITH wanted AS MATERIALIZED (
    SELECT utid, thread_utid, role = 'kernel' AS is_kernel
    FROM task
    WHERE if(role = 'kernel', $2, list_contains($1::INTEGER[], utid))
), ran AS (
    SELECT sleep.utid, sleep.cpu, sleep.run_ns AS ts, lead(sleep.ts) OVER thread AS end_ns
    FROM sleep
    JOIN task USING (utid)
    WHERE task.thread_utid IN (SELECT thread_utid FROM wanted)
    WINDOW thread AS (PARTITION BY task.thread_utid ORDER BY sleep.run_ns, sleep.sleep_id)
)
SELECT ran.utid, ran.cpu, ran.ts, ran.end_ns, wanted.is_kernel
FROM ran
JOIN wanted USING (utid)
WHERE ran.end_ns > ran.ts
  AND ran.cpu IS NOT NULL
ORDER BY ran.ts
