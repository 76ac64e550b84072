-- The $1 costliest patterns of inversion by their number in the report (verdict/inversion_pattern),
-- from sums by request: grouping all inversions by five texts again takes seconds.
SELECT row_number() OVER (ORDER BY total.dur DESC, pattern) AS rank, kind, culprit
FROM digest.pattern
JOIN (SELECT pattern_id, sum(dur) AS dur FROM digest.request_pattern GROUP BY pattern_id) AS total
    USING (pattern_id)
ORDER BY rank
LIMIT $1
