-- Wake-ups in [$1, $2) with waker and woken, by their first utids. The waker was on the CPU of its
-- last run.
WITH waking AS (
    SELECT sleep.*, task.thread_utid, source.thread_utid AS waker_thread_utid
    FROM sleep
    JOIN task USING (utid)
    LEFT JOIN task AS source ON source.utid = waker_utid
    WHERE NOT is_preempted AND woken_ns >= $1 AND woken_ns < $2
)
SELECT coalesce(waker.cpu, woken.cpu), woken.woken_ns, woken.thread_utid, woken.waker_thread_utid,
    woken.waker_context, woken.cpu, woken.stack_id, woken.woken_ns = woken.ts
FROM waking AS woken
ASOF LEFT JOIN (SELECT thread_utid, ts, cpu FROM on_cpu JOIN task USING (utid)) AS waker
    ON waker.thread_utid = woken.waker_thread_utid AND waker.ts <= woken.woken_ns
