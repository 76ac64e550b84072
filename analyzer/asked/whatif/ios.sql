-- Ios with the times of their stages. Who queued one at a dm or md device is its submitter. helper:
-- the kernel thread that queued it at the device itself, -1 if another task did.
SELECT io.io_id, io.dev,
    op = 'flush' OR (cmd_flags & (1 << 18)) <> 0
    -- older probes lost PREFLUSH, and most writes with FUA have it too
    OR (cmd_flags & (1 << 17)) <> 0
    AND NOT EXISTS (FROM io AS any_io WHERE any_io.op = 'write' AND any_io.cmd_flags & (1 << 18) <> 0)
        AS asks_flush,
    op = 'flush' OR (cmd_flags & (1 << 17)) <> 0 AS to_media,
    cmd_flags & 255 AS op, bytes,
    coalesce(origin.utid, submitter_utid, -1) AS submitter_utid,
    if(queuer.role = 'kernel', queuer.utid, -1) AS helper_utid,
    coalesce(task.role = 'kernel', false) AS is_by_kernel,
    io.queued_ns, got_ns, issued_ns, completed_ns
FROM io
LEFT JOIN io_origin AS origin ON origin.io_id = io.io_id AND origin.parent_io_id IS NULL
LEFT JOIN task AS queuer ON queuer.utid = submitter_utid
LEFT JOIN task ON task.utid = coalesce(origin.utid, submitter_utid)
WHERE completed_ns > issued_ns
ORDER BY io.io_id
