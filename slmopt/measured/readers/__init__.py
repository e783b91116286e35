"""One module a tool: each recognises what its tool writes and turns it into rows of the one table."""
