-- The segments of the requests of a part; "recording" stands for the database of the recording.
CREATE TEMP VIEW segment AS
FROM "recording".main.segment
WHERE request_id IN (FROM part)
