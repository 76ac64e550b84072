"""The latency regression gate: whether a candidate's tail is worse than a baseline's, and why."""
