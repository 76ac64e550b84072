-- $3: latencies. Each with the part of the requests above it.
SELECT limit_, (count(*) FILTER (dur > limit_))::DOUBLE / count(*)
FROM (SELECT unnest($3::BIGINT[]) AS limit_, generate_subscripts($3::BIGINT[], 1) AS position)
CROSS JOIN digest.chosen($1, $2)
GROUP BY position, limit_
ORDER BY position
