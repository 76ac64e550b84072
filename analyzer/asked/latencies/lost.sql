-- Number of requests that were lost, and of those that were recorded.
SELECT coalesce(sum(lost), 0)::BIGINT, coalesce(sum(written), 0)::BIGINT
FROM loss WHERE probe = 'request'
