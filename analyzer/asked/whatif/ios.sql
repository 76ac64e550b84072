-- Ios with the times of their stages.
SELECT io_id, dev, op = 'flush' OR (cmd_flags & ((1 << 17) | (1 << 18))) <> 0 AS asks_flush,
    cmd_flags & 255 AS op, bytes,
    coalesce(submitter_utid, -1) AS submitter_utid, queued_ns, got_ns, issued_ns, completed_ns
FROM io
WHERE completed_ns > issued_ns
ORDER BY io_id
