"""The commands of ``rcp-trace gate``."""
