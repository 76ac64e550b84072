-- What the threads of requests did and waited for, by how slow the requests were. $3: where
-- bands of latency end.
WITH placed AS (
    SELECT
        request_id,
        len(list_filter($3::BIGINT[], lambda limit_: limit_ < dur))::TINYINT AS band
    FROM digest.chosen($1, $2)
)
SELECT placed.band, request_wait.reason, sum(request_wait.dur)::BIGINT AS dur, count(*) AS n
FROM request_wait
JOIN placed USING (request_id)
GROUP BY placed.band, request_wait.reason
ORDER BY placed.band, dur DESC, request_wait.reason
