"""Times the calculation package and the dashboard, and pictures its pages."""
