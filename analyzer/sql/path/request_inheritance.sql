-- depends: block.inheritance
-- depends: block.loan_wait
-- depends: path.edge
-- depends: path.segment

CREATE VIEW request_inheritance AS
SELECT DISTINCT edge.request_id, loan_wait.inheritance_id
FROM edge
JOIN loan_wait USING (sleep_id)
UNION
SELECT segment.request_id, inheritance.inheritance_id
FROM segment
JOIN inheritance USING (io_id);

COMMENT ON VIEW request_inheritance IS 'loans and promotions on critical paths';
COMMENT ON COLUMN request_inheritance.request_id IS 'request whose critical path it is on';
COMMENT ON COLUMN request_inheritance.inheritance_id IS 'the loan or promotion';
