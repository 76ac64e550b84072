"""The commands of ``rcp-trace``: each opens a recording, asks, prints."""
