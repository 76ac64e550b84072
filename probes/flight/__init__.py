"""The flight recorder: keep the last seconds, write them when a request is slow."""
