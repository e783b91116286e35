"""The entry: `streamlit run app.py`."""

import streamlit as st

from pages.ui.ahead import ROUTE

app = st.App("pages/ui/main.py", routes=[ROUTE])
