"""A second exact reader, sharing nothing with the first but this package's folder.

It is Python's `json` with hooks: numbers stay lexemes, a name that occurs
twice is an error. Two messages it tells apart must have different canonical
actions, and two it does not must have equal ones. It judges no limit and no
envelope; it only says what the action of an admitted call is.
"""

import hashlib
import json


class _Lexeme(str):
    __slots__ = ()


def _pairs(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name occurs twice")
    return members


def _constant(text):
    raise ValueError(f"`{text}` is no JSON")


_decoder = json.JSONDecoder(
    parse_float=_Lexeme, parse_int=_Lexeme, parse_constant=_constant, object_pairs_hook=_pairs
)

_NOT_ACTION = {
    "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/logLevel",
    "countersign.dev/execution_id", "countersign.dev/workflow_id",
    "progressToken", "traceparent", "tracestate", "baggage",
}


def _tagged(value, out):
    """Length-prefixed and tagged by type, so that no two values read alike."""
    if isinstance(value, _Lexeme):
        out.append(f"n{len(value)}:{value}")
    elif isinstance(value, str):
        out.append(f"s{len(value)}:{value}")
    elif isinstance(value, dict):
        out.append(f"o{len(value)}:")
        for name in sorted(value):
            out.append(f"k{len(name)}:{name}")
            _tagged(value[name], out)
    elif isinstance(value, list):
        out.append(f"a{len(value)}:")
        for item in value:
            _tagged(item, out)
    else:
        out.append(f"{value};")


def exact_key(message):
    """A key of the action in `message`, or None where this reader sees no action."""
    try:
        root = _decoder.decode(message.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(root, dict) or root.get("method") != "tools/call":
        return None
    params = root.get("params")
    if not isinstance(params, dict):
        return None
    out = []
    for name in ("name", "arguments", "task"):
        out.append(f"{name}?")
        if name in params:
            _tagged(params[name], out)
    meta = params.get("_meta")
    if isinstance(meta, dict):
        meta = {name: value for name, value in meta.items() if name not in _NOT_ACTION}
        if meta:
            out.append("_meta?")
            _tagged(meta, out)
    return hashlib.sha256("".join(out).encode("utf-8", "surrogatepass")).hexdigest()
