-- The inversions of the requests of a part; "recording" stands for the database of the recording.
CREATE TEMP VIEW inversion AS
FROM "recording".main.inversion
WHERE request_id IN (FROM part)
