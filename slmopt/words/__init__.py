"""The one home of number words and findings: pages, command line and reports speak through it."""
