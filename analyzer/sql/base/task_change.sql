-- depends: base.task

CREATE VIEW task_change AS
SELECT
    thread_utid,
    tid,
    utid,
    since_ns AS ts,
    lag(own_comm) OVER names AS old_comm,
    own_comm AS comm,
    lag(cgroup_id) OVER names AS old_cgroup_id,
    cgroup_id,
    lag(role) OVER names AS old_role,
    role
FROM task
WINDOW names AS (PARTITION BY thread_utid ORDER BY since_ns, utid)
QUALIFY lag(utid) OVER names IS NOT NULL;

COMMENT ON VIEW task_change IS 'changes of threads'' names and cgroups while they were recorded, which can change their roles';
COMMENT ON COLUMN task_change.thread_utid IS 'key of the thread: its first utid';
COMMENT ON COLUMN task_change.tid IS 'thread id';
COMMENT ON COLUMN task_change.utid IS 'the thread under its new name';
COMMENT ON COLUMN task_change.ts IS 'time of the change';
COMMENT ON COLUMN task_change.old_comm IS 'name until then';
COMMENT ON COLUMN task_change.comm IS 'name since then';
COMMENT ON COLUMN task_change.old_cgroup_id IS 'cgroup v2 id until then';
COMMENT ON COLUMN task_change.cgroup_id IS 'cgroup v2 id since then';
COMMENT ON COLUMN task_change.old_role IS 'role until then';
COMMENT ON COLUMN task_change.role IS 'role since then';
