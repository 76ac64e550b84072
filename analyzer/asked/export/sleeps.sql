-- Sleeps $1 with the lock, its owner and the kernel stack.
SELECT sleep_id, ts, woken_ns, object, owner.comm, array_to_string(frames, ' ← ')
FROM sleep
LEFT JOIN stack USING (stack_id)
LEFT JOIN task AS owner ON owner.utid = owner_utid
WHERE list_contains($1::INTEGER[], sleep_id)
