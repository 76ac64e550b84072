-- Inversions of the chosen requests by pattern, what the slowest 1 % lost to them first. $3:
-- where that begins, in ns; $4 to $9: only in [$4, $5) ns, of this kind, culprit, file (NULL for
-- any) and cgroup. A file is on a request's path when a wait or an io of the path is of it.
WITH picked AS (
    SELECT request_id, dur, dur >= $3 AS is_slow
    FROM digest.chosen($1, $2)
    WHERE ts >= $4
      AND ts < $5
      AND ($8::UBIGINT[] IS NULL OR request_id IN (
            SELECT edge.request_id
            FROM edge
            LEFT JOIN sleep USING (sleep_id)
            LEFT JOIN io ON io.io_id = edge.io_id
            WHERE list_contains($8::UBIGINT[], sleep.ino)
               OR list_contains($8::UBIGINT[], io.ino)
        ))
), grouped AS (
    SELECT
        inversion.kind,
        inversion.culprit,
        inversion.role,
        inversion.role_rule,
        inversion.pattern,
        count(DISTINCT inversion.request_id) AS n_requests,
        sum(inversion.dur)::BIGINT AS dur,
        coalesce(sum(inversion.dur) FILTER (picked.is_slow), 0)::BIGINT AS slow_dur,
        max(inversion.dur) AS max_dur,
        sum(inversion.confidence * inversion.dur) / nullif(sum(inversion.dur), 0) AS confidence
    FROM inversion
    JOIN picked USING (request_id)
    WHERE ($6 = '' OR inversion.kind = $6)
      AND ($7 = '' OR inversion.culprit = $7)
      AND ($9::BIGINT IS NULL OR inversion.culprit_utid IN (
            SELECT utid FROM task WHERE cgroup_id = $9::BIGINT
        ))
    GROUP BY ALL
)
SELECT
    kind, culprit, role, role_rule, pattern, n_requests, dur, slow_dur,
    slow_dur / nullif((SELECT sum(dur) FROM picked WHERE is_slow), 0),
    max_dur, coalesce(confidence, 0)
FROM grouped
ORDER BY slow_dur DESC, dur DESC, pattern, kind, culprit
LIMIT 200
