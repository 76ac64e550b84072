-- Requests by when they began and how long they took. $3: the recording's beginning in ns, $4:
-- length of a step of time, $5: steps of latency per doubling.
SELECT
    ((ts - $3) // $4)::INTEGER AS time_step,
    floor(log2(greatest(dur, 1)) * $5)::INTEGER AS latency_step,
    count(*) AS n,
    max(dur) AS longest
FROM digest.chosen($1, $2)
GROUP BY time_step, latency_step
ORDER BY time_step, latency_step
