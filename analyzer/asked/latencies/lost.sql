-- Number of requests that were lost or are missing, and of those that are there.
SELECT coalesce(sum(lost + missing), 0)::BIGINT, coalesce(sum(written - missing), 0)::BIGINT
FROM loss WHERE probe = 'request'
