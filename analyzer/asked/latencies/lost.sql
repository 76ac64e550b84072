-- Events of requests that were lost, and those that were not.
SELECT coalesce(sum(lost), 0)::BIGINT, coalesce(sum(written), 0)::BIGINT
FROM loss WHERE probe = 'request'
