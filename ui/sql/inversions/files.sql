-- Files of the waits and ios on critical paths, the most frequent first.
WITH met AS (
    SELECT sleep.dev, sleep.ino, count(*) AS n
    FROM edge
    JOIN sleep USING (sleep_id)
    WHERE sleep.ino IS NOT NULL
    GROUP BY sleep.dev, sleep.ino
    UNION ALL
    SELECT io_file.dev, io_file.ino, count(*)
    FROM edge
    JOIN io_file USING (io_id)
    GROUP BY io_file.dev, io_file.ino
)
SELECT file.path, sum(met.n)::BIGINT AS n
FROM met
JOIN file USING (dev, ino)
GROUP BY file.path
ORDER BY n DESC, file.path
LIMIT 100
