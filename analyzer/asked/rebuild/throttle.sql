-- Pauses of dirty throttling as the probe recorded them.
SELECT ts, coalesce(cgroup_id, 0) AS cgroup_id, limit_pages, setpoint_pages, dirty_pages,
    bdi_setpoint_pages, bdi_dirty_pages, dirty_ratelimit_kibps, task_ratelimit_kibps,
    pause_dur // 1000000 AS pause_ms, utid AS tid, dirtied_pages
FROM throttle ORDER BY throttle_id
