"""Latencies of requests, wherever they were measured, and the SLOs they are held to."""
