-- What the threads of requests did and waited for, by how slow the requests were. $3: where
-- bands of latency end.
SELECT
    len(list_filter($3::BIGINT[], lambda limit_: limit_ < chosen.dur)) AS band,
    request_wait.reason,
    sum(request_wait.dur)::BIGINT AS dur,
    count(DISTINCT request_wait.request_id) AS n_requests
FROM request_wait
JOIN digest.chosen($1, $2) AS chosen USING (request_id)
GROUP BY band, request_wait.reason
ORDER BY band, dur DESC, request_wait.reason
