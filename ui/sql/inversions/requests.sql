-- Requests with inversions of one pattern, those it held up longest first. $5: kind, $6: culprit,
-- $7: pattern, $8: its role rule; only those that begin in [$3, $4) ns. $9: the recording's beginning.
SELECT
    chosen.request_id,
    chosen.ts - $9,
    chosen.name,
    chosen.comm,
    chosen.dur,
    sum(inversion.dur)::BIGINT AS held_up,
    max(inversion.n_ios_ahead),
    max(inversion.bytes_ahead)
FROM inversion
JOIN digest.chosen($1, $2) AS chosen USING (request_id)
WHERE chosen.ts >= $3
  AND chosen.ts < $4
  AND inversion.kind = $5
  AND inversion.culprit = $6
  AND inversion.pattern = $7
  AND inversion.role_rule = $8
GROUP BY chosen.request_id, chosen.ts, chosen.name, chosen.comm, chosen.dur
ORDER BY held_up DESC, chosen.request_id
LIMIT 200
