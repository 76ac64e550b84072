-- Inversions that start in [$1, $2): only of requests $3 unless that is empty.
SELECT inversion.ts, inversion.kind, inversion.culprit, {
    'kind': inversion.kind, 'culprit': inversion.culprit, 'role': inversion.role,
    'role_rule': inversion.role_rule, 'chain': chain, 'share': share,
    'confidence': confidence, 'held_up_ns': inversion.dur, 'request': request_id
}
FROM inversion JOIN request USING (request_id)
WHERE inversion.ts >= $1 AND inversion.ts < $2
  AND (request_id IN (SELECT unnest($3::INTEGER[])) OR len($3::INTEGER[]) = 0)
ORDER BY inversion.ts, inversion_id
