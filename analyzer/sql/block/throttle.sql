CREATE TABLE throttle (
    throttle_id INTEGER,
    utid INTEGER,
    ts BIGINT,
    pause_dur BIGINT,
    cgroup_id BIGINT,
    limit_pages BIGINT,
    setpoint_pages BIGINT,
    dirty_pages BIGINT,
    dirtied_pages BIGINT,
    bdi_setpoint_pages BIGINT,
    bdi_dirty_pages BIGINT,
    dirty_ratelimit_kibps BIGINT,
    task_ratelimit_kibps BIGINT
);

COMMENT ON TABLE throttle IS 'decisions of balance_dirty_pages about writers';
COMMENT ON COLUMN throttle.throttle_id IS 'key, in recorded order, from 1';
COMMENT ON COLUMN throttle.utid IS 'the writer';
COMMENT ON COLUMN throttle.ts IS 'time of the decision';
COMMENT ON COLUMN throttle.pause_dur IS 'ns to pause, 0 for none';
COMMENT ON COLUMN throttle.cgroup_id IS 'cgroup v2 id of the writeback';
COMMENT ON COLUMN throttle.limit_pages IS 'dirty limit of the machine or memory cgroup';
COMMENT ON COLUMN throttle.setpoint_pages IS 'setpoint of the controller for dirty pages';
COMMENT ON COLUMN throttle.dirty_pages IS 'dirty pages counted against the limit';
COMMENT ON COLUMN throttle.dirtied_pages IS 'pages the writer dirtied since its last pause';
COMMENT ON COLUMN throttle.bdi_setpoint_pages IS 'setpoint of the controller for the device''s dirty pages';
COMMENT ON COLUMN throttle.bdi_dirty_pages IS 'dirty pages of the device';
COMMENT ON COLUMN throttle.dirty_ratelimit_kibps IS 'base rate of the device in KiB/s';
COMMENT ON COLUMN throttle.task_ratelimit_kibps IS 'rate given to the writer in KiB/s';
