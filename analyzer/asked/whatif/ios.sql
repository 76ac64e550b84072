-- Ios with the times of their stages. Who queued one at a dm or md device is its submitter, who
-- queued it at the device itself its queuer.
SELECT io.io_id, io.dev,
    op = 'flush' OR (cmd_flags & (1 << 18)) <> 0
    -- older probes lost PREFLUSH, and most writes with FUA have it too
    OR (cmd_flags & (1 << 17)) <> 0
    AND NOT EXISTS (FROM io AS any_io WHERE any_io.op = 'write' AND any_io.cmd_flags & (1 << 18) <> 0)
        AS asks_flush,
    op = 'flush' OR (cmd_flags & (1 << 17)) <> 0 AS to_media,
    cmd_flags & 255 AS op, bytes,
    coalesce(origin.utid, submitter_utid, -1) AS submitter_utid,
    coalesce(submitter_utid, -1) AS queuer_utid,
    coalesce(task.role = 'kernel', false) AS is_by_kernel,
    io.queued_ns, got_ns, issued_ns, completed_ns
FROM io
LEFT JOIN io_origin AS origin ON origin.io_id = io.io_id AND origin.parent_io_id IS NULL
LEFT JOIN task ON task.utid = coalesce(origin.utid, submitter_utid)
WHERE completed_ns > issued_ns
ORDER BY io.io_id
