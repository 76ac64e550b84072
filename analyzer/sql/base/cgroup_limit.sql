CREATE TABLE cgroup_limit (
    ts BIGINT,
    cgroup_id UBIGINT,
    resource VARCHAR,
    dev UBIGINT,
    amount UBIGINT,
    period_us UBIGINT
);

COMMENT ON TABLE cgroup_limit IS 'limits (cpu.max, io.max) of cgroups in which, or below which, something had to wait for one';
COMMENT ON COLUMN cgroup_limit.ts IS 'when the recorder found it: a wait for it was over (cpu) or began (others)';
COMMENT ON COLUMN cgroup_limit.cgroup_id IS 'cgroup v2 id';
COMMENT ON COLUMN cgroup_limit.resource IS 'cpu (ns of CPU time), read_bytes, write_bytes, read_ios or write_ios';
COMMENT ON COLUMN cgroup_limit.dev IS 'device that a limit of ios is for, NULL for cpu';
COMMENT ON COLUMN cgroup_limit.amount IS 'what all in it and below it may use in each period, NULL when the limit is gone';
COMMENT ON COLUMN cgroup_limit.period_us IS 'length of a period';
