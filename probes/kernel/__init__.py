"""What this kernel has, and which probes run on it."""
