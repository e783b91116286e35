"""The entry: `streamlit run app.py`."""

import streamlit as st

app = st.App("pages/ui/main.py")
