-- By which rule how many threads are foreground or background, as the header says it.
SELECT role || ' ' || role_rule || ' (' || count(*) || if(count(*) = 1, ' thread)', ' threads)')
FROM task
WHERE role IN ('foreground', 'background')
GROUP BY role, role_rule
ORDER BY role DESC, role_rule
