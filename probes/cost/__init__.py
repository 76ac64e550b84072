"""The CPU cost of recording: measured, and kept below a bound."""
