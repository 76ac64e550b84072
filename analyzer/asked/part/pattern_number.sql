-- The numbers that the recording gives its patterns: #2 is the same in the report of a part. It is
-- a view, so that who asks for no patterns does not wait for all inversions. "recording" stands for
-- the database of the recording.
CREATE TEMP VIEW pattern_number AS
WITH inversion AS NOT MATERIALIZED (FROM "recording".main.inversion)
FROM "asked/pattern/numbered"
