"""``rcp-trace record``, ``live`` and ``doctor``: options in, a recording out."""
