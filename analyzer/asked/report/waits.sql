-- Where foreground requests spent their time, the costliest reason first.
SELECT reason, n, avg_dur, p99_dur, max_dur, dur, share
FROM wait_by_reason
ORDER BY dur DESC, reason
