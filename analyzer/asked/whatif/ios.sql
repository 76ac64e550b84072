-- Ios with the times of their stages.
SELECT io_id, dev,
    op = 'flush' OR (cmd_flags & (1 << 18)) <> 0
    -- older probes lost PREFLUSH, and most writes with FUA have it too
    OR (cmd_flags & (1 << 17)) <> 0
    AND NOT EXISTS (FROM io AS any_io WHERE any_io.op = 'write' AND any_io.cmd_flags & (1 << 18) <> 0)
        AS asks_flush,
    op = 'flush' OR (cmd_flags & (1 << 17)) <> 0 AS to_media,
    cmd_flags & 255 AS op, bytes,
    coalesce(submitter_utid, -1) AS submitter_utid, queued_ns, got_ns, issued_ns, completed_ns
FROM io
WHERE completed_ns > issued_ns
ORDER BY io_id
