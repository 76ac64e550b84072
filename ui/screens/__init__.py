"""The explorer's pages: each queries ``info``, draws with ``charts`` and shows through ``web``."""
