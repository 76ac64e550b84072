"""The commands of ``rcp-trace``: each opens a recording, queries it and prints."""
