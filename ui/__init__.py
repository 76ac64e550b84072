"""The inversion explorer.

``info`` asks a recording (pure: rows in, tuples out), ``charts`` turns tuples into Vega-Lite
(pure), ``screens`` puts both on a page through ``web``, the only door to streamlit.
"""
