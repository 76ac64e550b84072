-- Bytes read and written that are not the foreground's work. Whose work an io is, not who submitted
-- it: a flusher writes what the foreground dirtied too.
SELECT coalesce(sum(bytes * share), 0)::DOUBLE
FROM io_blame JOIN io USING (io_id)
WHERE role <> 'foreground' AND NOT is_recorder AND cmd_flags & 255 IN (0, 1)
