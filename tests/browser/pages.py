"""The dashboard's pages, read from its source: tests are named after them before any server runs."""

from __future__ import annotations

from pages.ui.sitemap import PAGES

TITLES = [page.title for page in PAGES]
"""Names in the navigation, in its order."""

URL_PATHS = ["", *(page.url_path for page in PAGES[1:])]
"""What follows the server's address for each page; the first has no path of its own."""


def name(path: str) -> str:
    """A page's name for files and test ids."""
    return path or PAGES[0].url_path
