-- A task lends and then sleeps; one that sleeps already may be given a loan, which it passes on. So it is
-- the first sleep that ends after the loan. A task that did not have to sleep has none: its next sleep is
-- not soon.
-- depends: block.inheritance
-- depends: sched.sleep

CREATE VIEW loan_wait AS
SELECT lent.inheritance_id, sleep.sleep_id, lent.utid, lent.helper_utid, lent.mechanism, lent.depth
FROM (FROM inheritance WHERE kind = 'loan') AS lent
ASOF JOIN (
    SELECT sleep_id, utid, ts, ts + dur AS woken
    FROM sleep
    WHERE NOT is_first_seen
      AND NOT is_preempted
) AS sleep ON sleep.utid = lent.utid AND lent.ts <= sleep.woken
WHERE sleep.ts <= lent.ts + 1000000;

COMMENT ON VIEW loan_wait IS 'sleeps of threads that made another one critical meanwhile';
COMMENT ON COLUMN loan_wait.inheritance_id IS 'the loan';
COMMENT ON COLUMN loan_wait.sleep_id IS 'the sleep, which began at most 1 ms after the loan';
COMMENT ON COLUMN loan_wait.utid IS 'the sleeper';
COMMENT ON COLUMN loan_wait.helper_utid IS 'thread that became critical';
COMMENT ON COLUMN loan_wait.mechanism IS 'what it waited for';
COMMENT ON COLUMN loan_wait.depth IS '1 for a wait of the critical task, 2 for one of its helper, and so on';
