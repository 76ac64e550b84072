"""Servers that take one job after another: whose turn it is while a request waits."""
