-- Values of {column} of device $3 in [$1, $2). A counter keeps its value until the next one, so only
-- changes are returned.
SELECT ts, n FROM (
    SELECT ts, {column} AS n, lag({column}) OVER (ORDER BY ts) AS before
    FROM io_in_flight
    WHERE dev = $3 AND ts >= $1 AND ts < $2
)
WHERE n IS DISTINCT FROM before
ORDER BY ts
