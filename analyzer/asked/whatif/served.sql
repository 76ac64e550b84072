-- When kernel workers worked for ios of stacked devices, or on inodes of XFS, and for whom. A
-- loop device is flushed by an fsync of its file: that writes everybody's pages, whoever asked.
SELECT served.utid AS worker, ts, ts + dur AS end_ns, owner_utid AS owner
FROM io_served AS served
LEFT JOIN io USING (io_id)
WHERE dur > 0
  AND served.utid IS NOT NULL
  AND owner_utid IS NOT NULL
  AND io.op IS DISTINCT FROM 'flush'
ORDER BY served.utid, ts
