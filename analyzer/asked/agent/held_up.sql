-- What inversions took from foreground requests by kind, culprit and pattern, with the worst request.
SELECT kind, culprit, pattern,
    count(DISTINCT request_id) AS n,
    sum(dur)::BIGINT AS dur_ns,
    arg_max(request_id, dur) AS request_id,
    max(dur) AS max_ns
FROM inversion
GROUP BY kind, culprit, pattern
ORDER BY dur_ns DESC, kind, culprit, pattern
