"""The pages of the explorer: each asks ``info``, draws with ``charts``, through ``web``."""
