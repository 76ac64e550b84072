-- Part of each step of time in which a journal committed. $1, $2: see depth.
WITH piece AS (
    SELECT
        unnest(range((ts - $1) // $2, (ts + dur - $1) // $2 + 1)) AS step,
        ts - $1 AS lo,
        ts + dur - $1 AS hi
    FROM journal_commit
    WHERE dur IS NOT NULL
)
SELECT
    step::INTEGER,
    least(sum(least(hi, (step + 1) * $2) - greatest(lo, step * $2))::DOUBLE / $2, 1.0)
FROM piece
GROUP BY step
ORDER BY step
