-- Requests with inversions of one pattern, those it held up longest first. $5: kind, $6: culprit,
-- $7: pattern, $8: its role rule; only those that begin in [$3, $4) ns. $9: the recording's beginning.
-- Who they are is found from sums by request: only then their inversions are looked at.
WITH delayed AS MATERIALIZED (
    SELECT request_pattern.request_id, sum(request_pattern.dur)::BIGINT AS held_up
    FROM digest.request_pattern
    JOIN digest.chosen($1, $2) AS chosen USING (request_id)
    WHERE chosen.ts >= $3
      AND chosen.ts < $4
      AND request_pattern.pattern_id IN (
          SELECT pattern_id
          FROM digest.pattern
          WHERE kind = $5
            AND culprit = $6
            AND pattern = $7
            AND role_rule = $8
      )
    GROUP BY request_pattern.request_id
    ORDER BY held_up DESC, request_pattern.request_id
    LIMIT 200
)
SELECT
    request.request_id,
    request.ts - $9,
    request.name,
    request.comm,
    request.dur,
    delayed.held_up,
    max(inversion.n_ios_ahead),
    max(inversion.bytes_ahead)
FROM delayed
JOIN digest.request AS request USING (request_id)
JOIN inversion USING (request_id)
WHERE inversion.kind = $5
  AND inversion.culprit = $6
  AND inversion.pattern = $7
  AND inversion.role_rule = $8
GROUP BY
    request.request_id, request.ts, request.name, request.comm, request.dur, delayed.held_up
ORDER BY delayed.held_up DESC, request.request_id
