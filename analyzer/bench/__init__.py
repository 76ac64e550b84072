"""Benchmarks of the analyzer: loading, critical paths, export, reading latencies."""
