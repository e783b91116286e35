"""What leaves the browser: tables, and later documents."""
