-- Segments of the critical path of request $1. The decision of a policy is the one about the io in
-- the scheduler, or else about the sleep that the segment is part of. An io that was promoted has the
-- first task that waited for it, and how many older ios of its disk were queued then.
WITH chosen AS (SELECT * FROM segment WHERE request_id = $1),
of_io AS (
    SELECT io_id, string_agg(decision, '; ' ORDER BY ts, policy_event_id) AS decision
    FROM policy_decision SEMI JOIN chosen USING (io_id)
    GROUP BY io_id
), of_edge AS (
    SELECT edge_id, string_agg(decision, '; ' ORDER BY policy_event_id) AS decision
    FROM (SELECT edge_id, sleep_id FROM edge WHERE request_id = $1)
    JOIN policy_wait USING (sleep_id)
    JOIN policy_decision USING (policy_event_id)
    GROUP BY edge_id
), promoted AS (
    SELECT io_id, min(ts) AS ts, arg_min(comm, ts) AS waiter, arg_min(queued_dur, ts) AS queued_dur
    FROM inheritance SEMI JOIN chosen USING (io_id)
    LEFT JOIN task USING (utid)
    WHERE kind = 'promotion'
    GROUP BY io_id
), boosted AS (
    SELECT io_id, promoted.waiter, promoted.queued_dur, count(older.io_id) AS n_older
    FROM promoted
    JOIN io USING (io_id)
    LEFT JOIN io AS older ON older.dev = io.dev AND older.got_ns < io.got_ns
        AND older.issued_ns > promoted.ts
    GROUP BY ALL
)
SELECT chosen.ts - request.ts, chosen.dur, depth, kind, task.comm, task.role,
    chosen.io_id, io.op, io.bytes,
    coalesce(device.name, (io.dev >> 20) || ':' || (io.dev & 1048575)),
    submitter.comm, submitter.role, edge_id, file.path, ran.comm,
    io.is_throttled, coalesce(if(kind = 'queue', of_io.decision, NULL), of_edge.decision),
    boosted.waiter, boosted.queued_dur, boosted.n_older
FROM chosen
JOIN request USING (request_id)
LEFT JOIN task ON task.utid = chosen.utid
LEFT JOIN task AS ran ON ran.utid = chosen.ran_utid
LEFT JOIN io ON io.io_id = chosen.io_id
LEFT JOIN device ON device.dev = io.dev
LEFT JOIN task AS submitter ON submitter.utid = io.submitter_utid
LEFT JOIN (
    FROM io_file SEMI JOIN chosen USING (io_id)
) AS file ON file.io_id = chosen.io_id
LEFT JOIN of_io ON of_io.io_id = chosen.io_id
LEFT JOIN boosted ON boosted.io_id = chosen.io_id AND chosen.kind = 'queue'
LEFT JOIN of_edge USING (edge_id)
ORDER BY segment_id
