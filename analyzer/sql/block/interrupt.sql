CREATE TABLE interrupt (
    utid INTEGER,
    ts BIGINT,
    dur BIGINT,
    io_id UBIGINT,
    cpu BIGINT
);

COMMENT ON TABLE interrupt IS 'interrupts that ended an io for 5 us or more and kept a task from the CPU';
COMMENT ON COLUMN interrupt.utid IS 'the thread that was on the CPU, and did not run meanwhile; ksoftirqd/N does it itself; 0 on an idle CPU, which a thread that was woken may have waited for';
COMMENT ON COLUMN interrupt.ts IS 'begin: the device has completed the io';
COMMENT ON COLUMN interrupt.dur IS 'ns until all its pages were done, and those who waited for them woken';
COMMENT ON COLUMN interrupt.io_id IS 'the io';
COMMENT ON COLUMN interrupt.cpu IS 'the CPU';
