-- Reports, paths, exports and queries use the same sentences.
-- depends: block.policy_event

CREATE VIEW policy_decision AS
WITH measured AS (
    SELECT
        *,
        CASE
            WHEN dur >= 1000000 THEN format('{:.4g} ms', dur / 1e6)
            ELSE format('{:.4g} µs', dur / 1e3)
        END AS waited,
        CASE
            WHEN since_critical_dur IS NULL THEN ''
            WHEN since_critical_dur >= 1000000
                THEN format(', critical I/O {:.4g} ms ago', since_critical_dur / 1e6)
            ELSE format(', critical I/O {:.4g} µs ago', since_critical_dur / 1e3)
        END AS ago,
        CASE level
            WHEN 'critical' THEN 'critical '
            WHEN 'noncritical' THEN 'non-critical '
            ELSE ''
        END AS class
    FROM policy_event
)
SELECT
    policy_event_id,
    kind,
    utid,
    io_id,
    ts,
    dur,
    CASE kind
        WHEN 'io_held' THEN format('held for a token: {} of {} used{}', n_used, n_allowed, ago)
        WHEN 'io_starved' THEN format(
            'let pass by the starvation timer after {}, before {} critical {}',
            waited, n_critical, if(n_critical = 1, 'io', 'ios')
        )
        WHEN 'slot_wait' THEN format('{} of {} {}slots used', n_used, n_allowed, class)
        WHEN 'dirty_pause' THEN format(
            'dirty pages {:,} of {:,} allowed for non-critical tasks, paused {}',
            n_used, n_allowed, waited
        )
        WHEN 'mark' THEN CASE
            WHEN source = 'ioprio' THEN format(
                'I/O priority set to {}',
                CASE ioprio >> 13
                    WHEN 1 THEN 'realtime'
                    WHEN 2 THEN 'best-effort'
                    WHEN 3 THEN 'idle'
                    ELSE 'none'
                END
            )
            WHEN level = 'none' THEN 'unmarked by ' || source
            ELSE format('marked {} by {}', rtrim(class), source)
        END
    END AS decision
FROM measured;

COMMENT ON VIEW policy_decision IS 'decisions of the kernel''s policies in words';
COMMENT ON COLUMN policy_decision.policy_event_id IS 'the decision';
COMMENT ON COLUMN policy_decision.kind IS 'io_held, io_starved, slot_wait, dirty_pause or mark; NULL for one that this rcp does not know';
COMMENT ON COLUMN policy_decision.utid IS 'thread that waited or was marked, or submitted the io';
COMMENT ON COLUMN policy_decision.io_id IS 'the io it was about';
COMMENT ON COLUMN policy_decision.ts IS 'start of the wait; for a mark the time of the change';
COMMENT ON COLUMN policy_decision.dur IS 'ns it waited';
COMMENT ON COLUMN policy_decision.decision IS 'the decision, with its numbers';
