"""Latencies of requests from any source, and SLOs on them."""
