"""Benchmarks of recording: the ring drain, and each BPF program."""
