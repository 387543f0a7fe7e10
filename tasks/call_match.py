"""Whether function calls are the expected ones, checked against the documents of the functions and the allowed values.

Reference answers have the form of the Berkeley Function Calling Leaderboard (BFCL v3): a list of `{function: {parameter:
[allowed values]}}`, where "" among the values makes a parameter optional. Calls may come in any order, so they are matched
by the best assignment. What counts as the same value is declared here, and nothing else is forgiven:

- An int is fine for a float, also inside lists and objects; a float is never fine for an int, nor text for a number.
- A tuple is a list. The order in lists matters, that of keys does not.
- Strings are the same up to case, white space and the kind of quotation mark. Punctuation and signs count.
- A parameter at its documented default may be given or left out.
- A dot in a function's name may be an underscore (native tool names have no dots).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tasks.calls import Call

#: A function's document: name, description, parameters (a JSON schema, or BFCL's dialect of it).
Document: TypeAlias = Mapping[str, Any]
#: Allowed values by parameter.
Allowed: TypeAlias = Mapping[str, Sequence[Any]]


def faults(
    calls: Sequence[Call], reference: Sequence[Mapping[str, Allowed]], documents: Sequence[Document]
) -> list[str]:
    """What is wrong with the calls; empty if they are the expected ones. With several, the nearest assignment is told."""
    if len(calls) != len(reference):
        return [f"{len(calls)} calls instead of {len(reference)}"]
    by_name = {plain_name(str(document["name"])): document for document in documents}
    wanted = [next(iter(item.items())) for item in reference]
    table = [[call_faults(call, name, allowed, by_name) for name, allowed in wanted] for call in calls]
    found = [fault for row, column in enumerate(_best_assignment(table)) for fault in table[row][column]]
    return list(dict.fromkeys(found))


def _best_assignment(table: Sequence[Sequence[list[str]]]) -> list[int]:
    """For each call the expected call it is held against, with as few faults as can be."""
    if len(table) == 1:
        return [0]
    from scipy.optimize import linear_sum_assignment

    return [int(column) for column in linear_sum_assignment([[len(found) for found in row] for row in table])[1]]


def plain_name(name: str) -> str:
    """A function's name as native tool names have it."""
    return re.sub(r"[^\w-]", "_", name)


# -- one call ---------------------------------------------------------------------------------------------------------


def call_faults(call: Call, name: str, allowed: Allowed, documents: Mapping[str, Document]) -> list[str]:
    """What is wrong with one call, held against one expected call."""
    if plain_name(call.name) != plain_name(name):
        # More faults than any call of the right function can have, so that the assignment prefers those.
        return [f"{call.name} instead of {name}"] * (len(allowed) + len(call.named) + len(call.positional) + 1)
    document = documents.get(plain_name(name), {}).get("parameters", {})
    schemas: Mapping[str, Any] = document.get("properties", {}) or {parameter: {} for parameter in allowed}
    if len(call.positional) > len(schemas):
        return [f"{name}: {len(call.positional)} arguments, {len(schemas)} parameters"]
    given = dict(zip(schemas, call.positional, strict=False))
    if doubled := sorted(given.keys() & call.named.keys()):
        return [f"{name}: {parameter} is given twice" for parameter in doubled]
    given |= call.named
    found = [_argument_fault(given, parameter, allowed, schemas) for parameter in {**allowed, **given}]
    return [f"{name}: {fault}" for fault in found if fault]


def _argument_fault(
    given: Mapping[str, Any], parameter: str, allowed: Allowed, schemas: Mapping[str, Any]
) -> str | None:
    schema = schemas.get(parameter, {})
    values = allowed.get(parameter, [schema["default"]] if "default" in schema else [])
    if parameter not in given:
        optional = "" in values or ("default" in schema and _among(schema["default"], values, schema))
        return None if optional else f"{parameter} is missing"
    if parameter not in schemas and parameter not in allowed:
        return f"there is no parameter {parameter}"
    if _among(given[parameter], values, schema):
        return None
    if parameter not in allowed:
        return f"{parameter} was not asked for"
    expected = " or ".join(repr(value) for value in values if value != "")
    return f"{parameter} is {_short(given[parameter])}, expected {expected[:120]}"


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


# -- one value --------------------------------------------------------------------------------------------------------


def _among(value: Any, allowed: Sequence[Any], schema: Mapping[str, Any]) -> bool:
    return any(same(value, one, schema) for one in allowed)


def same(value: Any, allowed: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value is an allowed one. `schema`: the document of the parameter, which says where a float is expected.

    Inside an allowed object each key has its own list of allowed values, at any depth.
    """
    match allowed:
        case bool() | None:
            return value is allowed
        case str():
            return isinstance(value, str) and _normal(value) == _normal(allowed)
        case int() | float():
            return _same_number(value, allowed, schema)
        case list() | tuple():
            items = schema.get("items") or {}
            return (
                isinstance(value, list)
                and len(value) == len(allowed)
                and all(same(one, other, items) for one, other in zip(value, allowed, strict=True))
            )
        case dict():
            return isinstance(value, dict) and _same_object(value, allowed, schema.get("properties") or {})
    return False


def _normal(text: str) -> str:
    return re.sub(r"\s+", "", text).casefold().translate(_QUOTES)


_QUOTES = str.maketrans({"’": "'", "‘": "'", '"': "'", "“": "'", "”": "'"})

#: Types of BFCL and of JSON schema for which a float is as good as the int of the same value.
_FLOAT_TYPES = frozenset({"float", "number", "double", "any", ""})


def _same_number(value: Any, allowed: int | float, schema: Mapping[str, Any]) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if isinstance(value, int) and isinstance(allowed, int):
        return value == allowed
    if isinstance(value, float) and isinstance(allowed, int) and schema.get("type", "") not in _FLOAT_TYPES:
        return False
    return math.isclose(value, allowed, rel_tol=1e-9, abs_tol=1e-12)


def _same_object(value: Mapping[str, Any], allowed: Mapping[str, Any], schemas: Mapping[str, Any]) -> bool:
    choices = {key: given if isinstance(given, list) else [given] for key, given in allowed.items()}
    return value.keys() <= allowed.keys() and all(
        _among(value[key], values, schemas.get(key) or {}) if key in value else "" in values
        for key, values in choices.items()
    )


# -- documents for native tools -----------------------------------------------------------------------------------

_JSON_TYPES = {"dict": "object", "float": "number", "double": "number", "tuple": "array", "list": "array", "any": None}


def as_tool(document: Document) -> dict[str, Any]:
    """A function's document as an OpenAI-style tool: a name without dots, and JSON schema in place of BFCL's dialect."""
    function = {
        "name": plain_name(str(document["name"])),
        "description": document.get("description", ""),
        "parameters": _json_schema(document.get("parameters") or {"type": "object", "properties": {}}),
    }
    return {"type": "function", "function": function}


def _json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    type_ = _JSON_TYPES.get(schema.get("type", ""), schema.get("type"))
    rest = {key: value for key, value in schema.items() if key not in ("type", "properties", "items", "optional")}
    if type_ is not None:
        rest["type"] = type_
    if "properties" in schema:
        rest["properties"] = {name: _json_schema(one) for name, one in schema["properties"].items()}
    if isinstance(schema.get("items"), Mapping):
        rest["items"] = _json_schema(schema["items"])
    return rest
