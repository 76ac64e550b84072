-- The requests of a part; one whose outer request is not in the part is an outermost one there.
-- "recording" stands for the database of the recording.
CREATE TEMP VIEW request AS
SELECT * REPLACE (
    CASE WHEN parent_request_id IN (FROM part) THEN parent_request_id END AS parent_request_id)
FROM "recording".main.request
WHERE request_id IN (FROM part)
