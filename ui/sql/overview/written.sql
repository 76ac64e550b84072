-- Bytes written for other than foreground threads, by the time the ios were queued. $1, $2: see
-- depth.
SELECT
    ((io.queued_ns - $1) // $2)::INTEGER AS step,
    sum(io.bytes * io_blame.share)::DOUBLE AS bytes
FROM io
JOIN io_blame USING (io_id)
WHERE io.op = 'write'
  AND io_blame.role <> 'foreground'
GROUP BY step
ORDER BY step
