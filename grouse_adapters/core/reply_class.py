"""A class for frameworks that want one in place of a JSON schema."""

from __future__ import annotations

import json
from functools import lru_cache

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from grouse_adapters.core.metrics import JsonSchema


@lru_cache(maxsize=64)
def reply_class(schema: str) -> type[BaseModel]:
    """A pydantic class that shows ``schema`` (JSON text) and takes any object.

    The reply is judged by ``reply.py`` alone: a class that judged it too would lose what the model
    wrote.
    """

    class Judgement(BaseModel):
        """The judge's reply."""

        model_config = ConfigDict(extra="allow")

        @classmethod
        def __get_pydantic_json_schema__(
            cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
        ) -> JsonSchema:
            written: JsonSchema = json.loads(schema)
            return written

    return Judgement
