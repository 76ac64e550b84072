-- Points of the complementary distribution of latency: for some latencies that occurred, how
-- many requests took longer. $3 steps per doubling: closer points would not show. A step ends at
-- each latency of $4, so that those that occurred are points, and so are those of the $5 slowest
-- requests: where requests are few, each is a step to be seen.
WITH last AS (
    SELECT min(dur) AS dur
    FROM (SELECT dur FROM digest.chosen($1, $2) ORDER BY dur DESC LIMIT $5)
), step AS (
    SELECT
        floor(log2(greatest(dur, 1)) * $3) AS step,
        len(list_filter($4::BIGINT[], lambda exact: exact < dur)) AS after,
        if(dur >= (SELECT dur FROM last), dur, 0) AS alone,
        count(*) AS n,
        max(dur) AS dur
    FROM digest.chosen($1, $2)
    GROUP BY ALL
)
SELECT dur, (sum(n) OVER () - sum(n) OVER (ORDER BY step, after, alone))::BIGINT AS n_slower
FROM step
ORDER BY dur
