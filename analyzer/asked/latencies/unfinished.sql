-- Number of foreground requests that did not finish.
SELECT count(*) FROM request JOIN task USING (utid) WHERE role = 'foreground' AND dur IS NULL
