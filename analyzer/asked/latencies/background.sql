-- Bytes read and written that are not foreground work. By attribution, not by submitter: a flusher
-- also writes pages that foreground threads dirtied.
SELECT coalesce(sum(bytes * share), 0)::DOUBLE
FROM io_blame JOIN io USING (io_id)
WHERE role <> 'foreground' AND NOT is_recorder AND cmd_flags & 255 IN (0, 1)
