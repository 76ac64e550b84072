"""The agent: records all the time, keeps the bad moments, summarizes, and answers /metrics."""
