-- What the kernel made critical on a request's path: loans to tasks, promotions of ios. $1: the request.
SELECT
    inheritance.ts - request.ts,
    inheritance.utid,
    waiter.comm,
    inheritance.helper_utid,
    helper.comm,
    inheritance.mechanism,
    inheritance.io_id,
    inheritance.queued_dur
FROM request_inheritance
JOIN inheritance USING (inheritance_id)
JOIN request USING (request_id)
JOIN task AS waiter ON waiter.utid = inheritance.utid
LEFT JOIN task AS helper ON helper.utid = inheritance.helper_utid
WHERE request_id = $1
ORDER BY inheritance.ts, inheritance_id
