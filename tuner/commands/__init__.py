"""The commands of ``rcp-tune``: options in, lines and tables out."""
