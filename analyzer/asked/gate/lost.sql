-- Events of requests that were lost, and all of them.
SELECT coalesce(sum(lost), 0)::BIGINT, coalesce(sum(lost + written), 0)::BIGINT
FROM loss WHERE probe = 'request'
