"""Vega-Lite specifications of what ``info`` says. Pure."""
