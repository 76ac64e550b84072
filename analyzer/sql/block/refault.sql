CREATE TABLE refault (
    utid INTEGER,
    ts BIGINT,
    cgroup_id UBIGINT,
    limit_pages UBIGINT,
    n_pages BIGINT
);

COMMENT ON TABLE refault IS 'pages that a task read again because they had been evicted from memory';
COMMENT ON COLUMN refault.utid IS 'the thread that read them';
COMMENT ON COLUMN refault.ts IS 'when it queued the io that reads them, or what was merged into that io';
COMMENT ON COLUMN refault.cgroup_id IS 'cgroup v2 whose memory limit was reached, NULL for the whole machine';
COMMENT ON COLUMN refault.limit_pages IS 'that limit, or the memory of the machine; NULL if not known';
COMMENT ON COLUMN refault.n_pages IS 'how many pages of 4 KiB';
