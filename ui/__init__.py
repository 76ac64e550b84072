"""The inversion explorer.

``info`` queries a recording (pure: rows in, tuples out), ``charts`` turns tuples into Vega-Lite
(pure), ``screens`` shows both on a page through ``web``, the only module that imports streamlit.
"""
