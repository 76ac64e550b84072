-- Dirty pages when writers were throttled, and their limit: the most in each step. $1, $2: see
-- depth.
SELECT
    ((ts - $1) // $2)::INTEGER AS step,
    max(dirty_pages)::DOUBLE,
    min(limit_pages)::DOUBLE
FROM throttle
GROUP BY step
ORDER BY step
