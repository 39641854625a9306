"""A run as one HTML file: everything in it, nothing fetched, safe to open and to pass on."""

from grouse_adapters.report.page.evaluation import write_evaluation_page
from grouse_adapters.report.page.meta import write_meta_page

__all__ = ["write_evaluation_page", "write_meta_page"]
