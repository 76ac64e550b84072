-- Foreground and background rules with their numbers of threads, as text for the header.
SELECT role || ' ' || role_rule || ' (' || count(*) || if(count(*) = 1, ' thread)', ' threads)')
FROM task
WHERE role IN ('foreground', 'background')
GROUP BY role, role_rule
ORDER BY role DESC, role_rule
