-- Segments of the critical path of request $1. The decision of a policy is the one about the io in
-- the scheduler, or else about the sleep that the segment is part of.
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
)
SELECT chosen.ts - request.ts, chosen.dur, depth, kind, task.comm, task.role,
    chosen.io_id, io.op, io.bytes,
    coalesce(device.name, (io.dev >> 20) || ':' || (io.dev & 1048575)),
    submitter.comm, submitter.role, edge_id, file.path, ran.comm,
    io.is_throttled, coalesce(if(kind = 'queue', of_io.decision, NULL), of_edge.decision)
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
LEFT JOIN of_edge USING (edge_id)
ORDER BY segment_id
