CREATE TABLE role_rule (
    position INTEGER,
    role VARCHAR,
    rule VARCHAR,
    n_tasks INTEGER
);

COMMENT ON TABLE role_rule IS 'the role rules of the recording, in order; the first that matches a thread decides';
COMMENT ON COLUMN role_rule.position IS 'place in the order, from 1';
COMMENT ON COLUMN role_rule.role IS 'role the rule gives';
COMMENT ON COLUMN role_rule.rule IS 'the rule as written';
COMMENT ON COLUMN role_rule.n_tasks IS 'threads it decided';
