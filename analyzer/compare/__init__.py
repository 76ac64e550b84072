"""``rcp-trace diff``: two recordings side by side."""
