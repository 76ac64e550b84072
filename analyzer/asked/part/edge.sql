-- The edges of the requests of a part; "recording" stands for the database of the recording.
CREATE TEMP VIEW edge AS
FROM "recording".main.edge
WHERE request_id IN (FROM part)
