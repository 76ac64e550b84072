-- Foreground requests that had not finished.
SELECT count(*) FROM request JOIN task USING (utid) WHERE role = 'foreground' AND dur IS NULL
