"""The floor of all latencies: a bare Streamlit app of one slider and one chart, `streamlit run benchmarks/floor_app.py`."""

import plotly.graph_objects as go
import streamlit as st

bandwidth = st.slider("Bandwidth (GB/s)", 100, 3000, 1000, 50)
batches = [2**n for n in range(11)]
figure = go.Figure(go.Scatter(x=batches, y=[min(bandwidth * batch, 40_000) for batch in batches]))
st.plotly_chart(figure, key="floor")
