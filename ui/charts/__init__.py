"""Vega-Lite specifications of the data from ``info``. Pure."""
