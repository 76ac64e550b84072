-- Points of the complementary distribution of latency: for some latencies that occurred, how
-- many requests took longer. $3 steps per doubling: closer points would not show.
WITH step AS (
    SELECT floor(log2(greatest(dur, 1)) * $3) AS step, count(*) AS n, max(dur) AS dur
    FROM digest.chosen($1, $2)
    GROUP BY step
)
SELECT dur, (sum(n) OVER () - sum(n) OVER (ORDER BY step))::BIGINT AS n_slower
FROM step
ORDER BY dur
