"""The embedded judge: no model, no key, no network."""

from grouse_adapters.lexical.judge import LexicalJudge

__all__ = ["LexicalJudge"]
