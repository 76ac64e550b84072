CREATE TABLE cgroup (
    ts BIGINT,
    cgroup_id UBIGINT,
    parent_id UBIGINT,
    path VARCHAR
);

COMMENT ON TABLE cgroup IS 'cgroups that recorded tasks were in, and those above them';
COMMENT ON COLUMN cgroup.ts IS 'when the recorder met it first';
COMMENT ON COLUMN cgroup.cgroup_id IS 'cgroup v2 id';
COMMENT ON COLUMN cgroup.parent_id IS 'id of the cgroup above, NULL for the root';
COMMENT ON COLUMN cgroup.path IS 'its path below /sys/fs/cgroup; names are cut after 127 bytes';
