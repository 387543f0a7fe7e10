"""A typed Python function as a function a model can call: its OpenAI-style schema, and checked arguments.

The signature gives names, types, required arguments and (through `Annotated[…, Meta(description=…)]`) what they mean; the
docstring says what the function does. msgspec, which the nouns are made of, writes the schema and reads the arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

import msgspec


class CallError(Exception):
    """A call that cannot be carried out; what the model is told."""


class Function:
    """One function. Its first parameter is what it works on, and is not seen by the model.

    Attributes:
        name: of the function. `schema`: as a request for a chat completion takes it.
    """

    def __init__(self, call: Callable[..., Any]) -> None:
        self.name = call.__name__
        self._call = call
        self._arguments = _arguments(call)
        does = inspect.cleandoc(call.__doc__ or "")
        function = {"name": self.name, "description": does, "parameters": parameters(self._arguments)}
        self.schema: Mapping[str, Any] = {"type": "function", "function": function}

    def __call__(self, subject: Any, arguments: str) -> Any:
        """What the function returns for arguments as a model wrote them (JSON text). Raises `CallError`."""
        try:
            given = msgspec.json.decode(arguments.strip() or "{}", type=self._arguments, strict=False)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise CallError(f"{self.name}: the arguments do not fit: {error}") from error
        return self._call(subject, **msgspec.structs.asdict(given))


def _arguments(call: Callable[..., Any]) -> type[msgspec.Struct]:
    """The arguments of a call as a type; other names than the function's are refused."""
    hints = get_type_hints(call, include_extras=True)
    _, *own = inspect.signature(call).parameters.values()
    fields = [
        (each.name, hints[each.name])
        if each.default is inspect.Parameter.empty
        else (each.name, hints[each.name], each.default)
        for each in own
    ]
    return msgspec.defstruct(call.__name__, fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


def parameters(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a type in the plain form every server takes: no references, no titles, no `null`."""
    (schema,), components = msgspec.json.schema_components([arguments])
    return dict(_plain(schema, components))


def _plain(node: Any, components: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(item, components) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _plain(components[node["$ref"].rpartition("/")[2]], components)
    if "anyOf" in node:  # an optional argument is one that may be left out
        (told,) = (option for option in node["anyOf"] if option.get("type") != "null")
        node = {key: value for key, value in node.items() if key != "anyOf"} | told
    if node.get("type") == "object":
        node = {key: value for key, value in node.items() if key != "title"}
    if "enum" in node:
        node = {**node, "type": "string", "enum": [value for value in node["enum"] if value is not None]}
    return {key: _plain(value, components) for key, value in node.items() if not (key == "default" and value is None)}
