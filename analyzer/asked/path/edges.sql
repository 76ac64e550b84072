-- Edges of the critical path of a request, with waiter, waker, file, decision, and whom the waiter
-- made critical.
WITH chosen AS (SELECT * FROM edge WHERE request_id = ?),
blamed AS (
    SELECT io_id, arg_max(comm, share) AS comm, max(share) AS share
    FROM (
        SELECT io_id, comm, sum(share) AS share
        FROM io_blame SEMI JOIN chosen USING (io_id)
        WHERE kind <> 'submitter'
        GROUP BY io_id, comm
    )
    GROUP BY io_id
)
SELECT edge_id, parent_edge_id, chosen.ts - request.ts, chosen.dur, depth, chosen.reason,
    waiter.comm, waker.comm, waker.role, chosen.io_id,
    coalesce(page.path, if(sleep.ino IS NULL, file.path, 'inode ' || sleep.ino)),
    blamed.comm, blamed.share, if(decided.decision IS NULL, stack_policy.policy, 'rcp'),
    paused.dirty_pages, paused.limit_pages, paused.pause_dur, decided.decision,
    lent.helpers,
    chosen.io_id IS NULL AND chosen.waker_utid IS NOT NULL AND sleep.waker_utid IS NULL
        AND chosen.reason IN ('network', 'pipe', 'poll', 'eventfd')
FROM chosen
JOIN request USING (request_id)
JOIN task AS waiter ON waiter.utid = waiter_utid
LEFT JOIN task AS waker ON waker.utid = waker_utid
LEFT JOIN sleep USING (sleep_id)
LEFT JOIN file AS page ON page.ino = sleep.ino AND page.dev = sleep.dev
LEFT JOIN stack_policy ON stack_policy.stack_id = sleep.stack_id
LEFT JOIN blamed ON blamed.io_id = chosen.io_id
LEFT JOIN (
    FROM io_file SEMI JOIN chosen USING (io_id)
) AS file ON file.io_id = chosen.io_id
LEFT JOIN (
    FROM throttle_wait SEMI JOIN chosen USING (sleep_id)
) AS paused ON paused.sleep_id = chosen.sleep_id
LEFT JOIN (
    SELECT sleep_id, decision
    FROM policy_wait SEMI JOIN chosen USING (sleep_id)
    JOIN policy_decision USING (policy_event_id)
) AS decided ON decided.sleep_id = chosen.sleep_id
LEFT JOIN (
    SELECT sleep_id, string_agg(DISTINCT helper.comm, ', ' ORDER BY helper.comm) AS helpers
    FROM loan_wait SEMI JOIN chosen USING (sleep_id)
    JOIN task AS helper ON helper.utid = helper_utid
    GROUP BY sleep_id
) AS lent ON lent.sleep_id = chosen.sleep_id
ORDER BY chosen.edge_id
