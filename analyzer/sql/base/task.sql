CREATE TABLE task (
    utid INTEGER PRIMARY KEY,
    thread_utid INTEGER,
    tid INTEGER,
    pid INTEGER,
    ppid INTEGER,
    comm VARCHAR,
    own_comm VARCHAR,
    comms VARCHAR[],
    start_ns BIGINT,
    since_ns BIGINT,
    exit_ns BIGINT,
    is_kthread BOOLEAN,
    is_target BOOLEAN,
    is_recorder BOOLEAN,
    cgroup_id BIGINT,
    role VARCHAR,
    role_rule VARCHAR
);

COMMENT ON TABLE task IS 'threads, a row for each name and cgroup that one had; tids recur, so utid is the key';
COMMENT ON COLUMN task.utid IS 'key of the thread under this name in this recording; 0 is the idle threads';
COMMENT ON COLUMN task.thread_utid IS 'key of the thread: its first utid';
COMMENT ON COLUMN task.tid IS 'thread id';
COMMENT ON COLUMN task.pid IS 'process id';
COMMENT ON COLUMN task.ppid IS 'process id of the parent';
COMMENT ON COLUMN task.comm IS 'name to show: its own, or the command line that its role rule matched';
COMMENT ON COLUMN task.own_comm IS 'thread name at the time';
COMMENT ON COLUMN task.comms IS 'every name the thread had, in order';
COMMENT ON COLUMN task.start_ns IS 'when the thread was created, or first seen';
COMMENT ON COLUMN task.since_ns IS 'from when on it had this name and cgroup';
COMMENT ON COLUMN task.exit_ns IS 'when the thread exited, NULL when that was not seen';
COMMENT ON COLUMN task.is_kthread IS 'it is a kernel thread';
COMMENT ON COLUMN task.is_target IS 'its syscalls were recorded as requests';
COMMENT ON COLUMN task.is_recorder IS 'it belongs to the recorder itself';
COMMENT ON COLUMN task.cgroup_id IS 'cgroup v2 id';
COMMENT ON COLUMN task.role IS 'whose work it does: foreground, background, kernel or unknown';
COMMENT ON COLUMN task.role_rule IS 'rule that assigned the role';
