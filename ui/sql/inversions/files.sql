-- Files that waits and ios of critical paths were about, by name.
WITH met AS (
    SELECT sleep.ino, count(*) AS n
    FROM edge
    JOIN sleep USING (sleep_id)
    WHERE sleep.ino IS NOT NULL
    GROUP BY sleep.ino
    UNION ALL
    SELECT io.ino, count(*)
    FROM edge
    JOIN io ON io.io_id = edge.io_id
    WHERE io.ino IS NOT NULL
    GROUP BY io.ino
)
SELECT file.path, list(DISTINCT file.ino), sum(met.n)::BIGINT AS n
FROM met
JOIN file USING (ino)
GROUP BY file.path
ORDER BY n DESC, file.path
LIMIT 100
