"""Requests over time: a server simulated iteration by iteration on the forward pass, and what follows from it."""
