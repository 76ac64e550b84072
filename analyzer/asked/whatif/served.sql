-- When kernel workers worked for ios of loop devices or dm-crypt, or on inodes of XFS, and for whom.
SELECT utid, ts, ts + dur AS end_ns, owner_utid
FROM io_served
WHERE dur > 0
  AND utid IS NOT NULL
  AND owner_utid IS NOT NULL
ORDER BY utid, ts
