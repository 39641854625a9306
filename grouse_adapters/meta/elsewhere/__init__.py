"""Grades made elsewhere: by the paper's own package, in RAGAS, in DeepEval, by people in a table.

``read_judged`` reads any of them, and our own runs, into judgements.
"""

from grouse_adapters.meta.elsewhere.judged import Judged, ReadingOptions
from grouse_adapters.meta.elsewhere.reader import read_all, read_judged

__all__ = ["Judged", "ReadingOptions", "read_all", "read_judged"]
