"""Fakes to test a RAG evaluation with: no model, no key, no network beyond this machine.

``ScriptedChat`` is a chat model in this process, ``ScriptedServer`` an OpenAI-compatible HTTP
server; a ``Script`` tells either which grades to give. ``python -m grouse_adapters.testing`` runs
the server on its own.
"""

from grouse_adapters.testing.faults import (
    ContentFilter,
    CutOff,
    Dropped,
    Fault,
    Faults,
    FirstAttempts,
    Garbage,
    Hang,
    HttpError,
    InTurn,
    RandomFaults,
    RawBody,
    ServedRequest,
    When,
)
from grouse_adapters.testing.request import ScriptedRequest
from grouse_adapters.testing.script import Grades, Replies, Reply, Script, grades_reply
from grouse_adapters.testing.scripted_chat import ScriptedCall, ScriptedChat
from grouse_adapters.testing.server import ScriptedServer

__all__ = [
    "ContentFilter",
    "CutOff",
    "Dropped",
    "Fault",
    "Faults",
    "FirstAttempts",
    "Garbage",
    "Grades",
    "Hang",
    "HttpError",
    "InTurn",
    "RandomFaults",
    "RawBody",
    "Replies",
    "Reply",
    "Script",
    "ScriptedCall",
    "ScriptedChat",
    "ScriptedRequest",
    "ScriptedServer",
    "ServedRequest",
    "When",
    "grades_reply",
]
