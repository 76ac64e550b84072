-- When tasks ran, on which CPU: the culprits ($1) and kernel threads, which work for others.
SELECT on_cpu.utid, on_cpu.cpu, on_cpu.ts, on_cpu.ts + on_cpu.dur AS end_ns,
    task.role = 'kernel' AS is_kernel
FROM on_cpu
JOIN task USING (utid)
WHERE on_cpu.dur > 0
  AND on_cpu.cpu IS NOT NULL
  AND (list_contains($1::INTEGER[], on_cpu.utid) OR task.role = 'kernel')
ORDER BY on_cpu.ts
