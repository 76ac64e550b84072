-- btt's names: Q queued, G got request, I inserted, D issued, C completed.
-- depends: block.io

CREATE VIEW io_stage AS
SELECT
    io_id,
    got_ns - queued_ns AS q2g_dur,
    inserted_ns - got_ns AS g2i_dur,
    issued_ns - inserted_ns AS i2d_dur,
    completed_ns - issued_ns AS d2c_dur,
    completed_ns - queued_ns AS q2c_dur
FROM io;

COMMENT ON VIEW io_stage IS 'time of each io in each stage';
COMMENT ON COLUMN io_stage.io_id IS 'the io';
COMMENT ON COLUMN io_stage.q2g_dur IS 'ns waiting for a tag';
COMMENT ON COLUMN io_stage.g2i_dur IS 'ns until inserted, NULL when issued directly';
COMMENT ON COLUMN io_stage.i2d_dur IS 'ns in the scheduler, NULL when issued directly';
COMMENT ON COLUMN io_stage.d2c_dur IS 'ns in driver and device';
COMMENT ON COLUMN io_stage.q2c_dur IS 'total ns';
