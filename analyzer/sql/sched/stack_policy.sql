-- When a kernel policy makes a submitter wait, a function of the policy is on the stack:
-- wbt (block/blk-wbt.c), iocost (block/blk-iocost.c), iolatency (block/blk-iolatency.c), and the
-- delay that these charge to a cgroup (blkcg_maybe_throttle_current, block/blk-cgroup.c). With
-- blk-throttle the bio waits; a task waits only in blk-throttle's own functions. The patched kernel
-- adds slots (block/blk-rcp-slots.c) and dirty limits (kernel/rcp/dirty.c).
-- depends: base.stack

CREATE VIEW stack_policy AS
WITH frame AS (
    SELECT stack_id, unnest(frames) AS function
    FROM stack
), known AS (
    SELECT
        stack_id,
        CASE
            WHEN regexp_matches(function, '^_*wbt_') THEN 'wbt'
            WHEN regexp_matches(function, '^_*ioc_rqos_') THEN 'iocost'
            WHEN regexp_matches(function, '^_*blkcg_iolatency_') THEN 'iolatency'
            WHEN regexp_matches(function, '^_*blkcg_maybe_throttle') THEN 'blkcg'
            WHEN regexp_matches(function, '^_*(blk_throtl_|throtl_)') THEN 'blk-throttle'
            WHEN regexp_matches(function, '^_*(rcp_slots_|rcp_dirty_)') THEN 'rcp'
        END AS policy
    FROM frame
)
SELECT stack_id, min(policy) AS policy
FROM known
WHERE policy IS NOT NULL
GROUP BY stack_id;

COMMENT ON VIEW stack_policy IS 'kernel stacks in which a policy makes a submitter of ios wait';
COMMENT ON COLUMN stack_policy.stack_id IS 'the stack';
COMMENT ON COLUMN stack_policy.policy IS 'wbt, iocost, iolatency, blkcg (a delay charged to the cgroup), blk-throttle or rcp';
