"""What the pages share: the entry script, the scenario panel, the chart doorway, the anatomy of a page."""
