"""The flight recorder: keep the last seconds, write them out when a request is slow."""
