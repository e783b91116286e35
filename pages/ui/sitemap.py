"""The pages, in the order of the top bar. A file's stem differs from its address, or deep links lose the frame."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Entry:
    """One page: its name in the top bar and its address; the file follows from the address."""

    title: str
    url_path: str

    @property
    def file(self) -> Path:
        """The page's script."""
        return FOLDER / f"{self.url_path.replace('-', '_')}_page.py"


PAGES = (
    Entry("Overview", "overview"),
    Entry("Roofline", "roofline"),
    Entry("Batching", "batching"),
    Entry("Simulate", "simulate"),
    Entry("Memory", "memory"),
    Entry("First token", "first-token"),
    Entry("Speculation", "speculation"),
    Entry("Measurements", "measurements"),
    Entry("Plan", "plan"),
    Entry("Your model", "model"),
    Entry("Share", "share"),
    Entry("Method", "method"),
)


def entry(url_path: str) -> Entry:
    """The page at an address; KeyError names the ones there are."""
    for page in PAGES:
        if page.url_path == url_path:
            return page
    raise KeyError(f"no page {url_path!r}; there are {', '.join(page.url_path for page in PAGES)}")
