"""Pure functions from results to Plotly figures."""
