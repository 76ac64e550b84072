-- Wake-ups in [$1, $2) with waker and woken. The waker was on the CPU of its last run.
SELECT coalesce(waker.cpu, woken.cpu), woken.woken_ns, woken.utid, woken.waker_utid,
    woken.waker_context, woken.cpu, woken.stack_id, woken.woken_ns = woken.ts
FROM sleep AS woken
ASOF LEFT JOIN (SELECT utid, ts, cpu FROM on_cpu) AS waker
    ON waker.utid = woken.waker_utid AND waker.ts <= woken.woken_ns
WHERE NOT woken.is_preempted AND woken.woken_ns >= $1 AND woken.woken_ns < $2
