-- Finished requests: those of foreground threads, all, and how many of the ids in $1 are foreground.
SELECT
    count(*) FILTER (role = 'foreground'),
    count(*),
    count(*) FILTER (role = 'foreground' AND list_contains($1::INTEGER[], request_id))
FROM request JOIN task USING (utid)
WHERE dur IS NOT NULL
