CREATE TABLE role_rule (
    position INTEGER,
    role VARCHAR,
    rule VARCHAR,
    n_tasks INTEGER
);

COMMENT ON TABLE role_rule IS 'role rules of the recording, in order of precedence among equals; a rule for a thread comes before one that it inherits from its process or cgroup';
COMMENT ON COLUMN role_rule.position IS 'position in the order, from 1';
COMMENT ON COLUMN role_rule.role IS 'role that the rule assigns';
COMMENT ON COLUMN role_rule.rule IS 'the rule as written';
COMMENT ON COLUMN role_rule.n_tasks IS 'threads it applies to';
