-- Inversion patterns by stretch ($3 stretches): requests, time, time weighted by confidence, and the
-- longest inversion with the role rule of its culprit. From sums by request and number of pattern:
-- grouping all inversions by four texts takes four times as long.
WITH placed AS (
    SELECT request_id, ntile($3) OVER (ORDER BY ts, request_id) - 1 AS stretch
    FROM digest.chosen($1, $2)
), shown AS (
    -- Of several role rules the patterns are one here.
    SELECT
        pattern_id,
        min(pattern_id) OVER rules AS shown_id,
        count(*) OVER rules > 1 AS has_rules
    FROM digest.pattern
    WINDOW rules AS (PARTITION BY pattern, kind, culprit, role)
), by_rule AS (
    SELECT
        pattern_id, stretch, count(*) FILTER (held.is_first) AS n, sum(held.dur) AS dur,
        sum(held.sure_dur) AS sure_dur, max(held.longest) AS longest
    FROM digest.request_pattern AS held
    JOIN placed USING (request_id)
    GROUP BY pattern_id, stretch
), of_rules AS (
    -- A request may have inversions of several rules.
    SELECT shown_id, stretch, count(DISTINCT request_id) AS n
    FROM digest.request_pattern
    JOIN (FROM shown WHERE has_rules) USING (pattern_id)
    JOIN placed USING (request_id)
    GROUP BY shown_id, stretch
)
SELECT
    named.pattern, named.kind, named.culprit, named.role, stretch,
    coalesce(any_value(of_rules.n), sum(by_rule.n))::BIGINT, sum(by_rule.dur)::BIGINT,
    sum(by_rule.sure_dur), max(by_rule.longest),
    max_by(named.role_rule, (by_rule.longest, named.role_rule))
FROM by_rule
JOIN digest.pattern AS named USING (pattern_id)
JOIN shown USING (pattern_id)
LEFT JOIN of_rules USING (shown_id, stretch)
GROUP BY named.pattern, named.kind, named.culprit, named.role, stretch
ORDER BY named.pattern, named.kind, named.culprit, named.role, stretch
