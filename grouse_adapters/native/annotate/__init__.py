"""A page on this machine on which people label answers, and what keeps their work."""

from grouse_adapters.native.annotate.desk import Desk
from grouse_adapters.native.annotate.server import serve
from grouse_adapters.native.annotate.storage import AnnotationStore
from grouse_adapters.native.annotate.tasks import tasks_of

__all__ = ["AnnotationStore", "Desk", "serve", "tasks_of"]
