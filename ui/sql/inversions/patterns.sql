-- Inversions of the chosen requests by pattern, what the slowest 1 % lost to them first; each with its
-- number in the report. $3:
-- where that begins, in ns; $4 to $9: only in [$4, $5) ns, of this kind, culprit, file and
-- cgroup (NULL for any). A file is on a request's path when a wait or an io of the path is of it.
WITH asked AS (
    SELECT dev, ino
    FROM file
    WHERE path = $8
), of_file AS (
    SELECT edge.request_id
    FROM asked
    JOIN sleep USING (dev, ino)
    JOIN edge USING (sleep_id)
    UNION ALL
    SELECT edge.request_id
    FROM asked
    JOIN io_file USING (dev, ino)
    JOIN edge USING (io_id)
), picked AS (
    SELECT request_id, dur, dur >= $3 AS is_slow
    FROM digest.chosen($1, $2)
    WHERE ts >= $4
      AND ts < $5
      AND ($8 = '' OR request_id IN (SELECT request_id FROM of_file))
), grouped AS (
    SELECT
        request_pattern.pattern_id,
        -- Of one cgroup there is but one row of each request.
        count(*) FILTER (request_pattern.is_first OR $9::BIGINT IS NOT NULL) AS n_requests,
        sum(request_pattern.dur)::BIGINT AS dur,
        coalesce(sum(request_pattern.dur) FILTER (picked.is_slow), 0)::BIGINT AS slow_dur,
        max(request_pattern.longest) AS max_dur,
        sum(request_pattern.sure_dur) / nullif(sum(request_pattern.dur), 0) AS confidence
    FROM digest.request_pattern
    JOIN picked USING (request_id)
    WHERE $9::BIGINT IS NULL
       OR request_pattern.cgroup_id = $9::BIGINT
    GROUP BY request_pattern.pattern_id
)
SELECT
    kind, culprit, role, role_rule, pattern, n_requests, dur, slow_dur,
    slow_dur / nullif((SELECT sum(dur) FROM picked WHERE is_slow), 0),
    max_dur, coalesce(confidence, 0), pattern_id
FROM grouped
JOIN digest.pattern USING (pattern_id)
WHERE ($6 = '' OR kind = $6)
  AND ($7 = '' OR culprit = $7)
ORDER BY slow_dur DESC, dur DESC, pattern, kind, culprit
LIMIT 200
