-- Mean number of ios under way in each step of time: that before the step times its length, and
-- of each io that begins or ends in it the rest of the step. $1: the recording's beginning, $2:
-- length of a step, $3: number of steps. What began before the recording began with it.
WITH change AS (
    SELECT greatest(queued_ns, $1) AS ts, 1 AS waiting, 0 AS at_device FROM io
    UNION ALL
    SELECT greatest(issued_ns, $1), -1, 1 FROM io
    UNION ALL
    SELECT greatest(completed_ns, $1), 0, -1 FROM io
), stepped AS (
    SELECT
        (ts - $1) // $2 AS step,
        sum(waiting) AS waiting,
        sum(at_device) AS at_device,
        sum(waiting * ($1 + ((ts - $1) // $2 + 1) * $2 - ts)) AS waiting_ns,
        sum(at_device * ($1 + ((ts - $1) // $2 + 1) * $2 - ts)) AS at_device_ns
    FROM change
    GROUP BY step
)
SELECT
    steps.step::INTEGER,
    coalesce(sum(waiting) OVER before, 0)::DOUBLE + coalesce(waiting_ns, 0) / $2,
    coalesce(sum(at_device) OVER before, 0)::DOUBLE + coalesce(at_device_ns, 0) / $2
FROM range($3) AS steps (step)
LEFT JOIN stepped ON stepped.step = steps.step
WINDOW before AS (ORDER BY steps.step ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
ORDER BY steps.step
