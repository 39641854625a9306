"""Sample text as a quoted block: nothing in it can look like a part of the prompt."""

from __future__ import annotations

import re
from typing import Final

PREFIX: Final = "| "

# Cc but tab and line breaks (those are gone by then), bidirectional embeddings, overrides and
# isolates, deprecated format characters, annotation anchors, tag characters, half surrogates.
# Joiners (ZWJ, ZWNJ) and the left-to-right marks stay: emoji and scripts need them.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u206f\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
# Several servers tokenize these as control tokens even inside a message.
_CHAT_MARKUP: Final = re.compile(
    r"<(?=[|｜][^<>\s]{1,64}[|｜]>|/?(?:s|bos|eos|start_of_turn|end_of_turn)>|</?SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
)


def quote(text: str) -> str:
    """``text`` as a block whose every line begins with ``| ``; the template filter ``quote``.

    Every Unicode line break starts a new quoted line. Control and bidirectional characters, tag
    characters and half surrogates become U+FFFD. Markup that chat templates reserve, such as
    ``<|im_end|>``, gets a space after its first character. All other text stays as it is.
    """
    lines = text.splitlines() or [""]
    if not "".join(lines).isprintable():  # the usual case needs no search, which costs twice this
        lines = [_HIDDEN.sub("\ufffd", line) for line in lines]
    block = PREFIX + f"\n{PREFIX}".join(lines)
    if "<" in block or "[" in block:
        block = _CHAT_MARKUP.sub(r"\g<0> ", block)
    return block
