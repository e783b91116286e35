"""A grid of scenarios, each evaluated and simulated: on this machine's cores or on a cluster, the same to the bit."""
