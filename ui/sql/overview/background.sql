-- Part of each step of time in which a background request (an fsync of a checkpointer) was under
-- way, those at once added up. $1, $2: see depth.
WITH piece AS (
    SELECT
        unnest(range((ts - $1) // $2, (ts + dur - $1) // $2 + 1)) AS step,
        ts - $1 AS lo,
        ts + dur - $1 AS hi
    FROM digest.request
    WHERE role = 'background'
)
SELECT
    step::INTEGER,
    sum(least(hi, (step + 1) * $2) - greatest(lo, step * $2))::DOUBLE / $2
FROM piece
GROUP BY step
ORDER BY step
