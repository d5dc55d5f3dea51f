"""A small MCP server over stdio, whose folder says how it behaves and keeps what it did.

A file `broken` makes it end at once, `mute` keeps it from ever answering `initialize`. The tool `pay` works, `die` ends
the process without an answer, `wait` never answers. `ask` asks its client for a sample and answers once a reply has come,
`takeback` takes that back and answers, `leave` answers without waiting.
"""

import json
import pathlib
import sys

NAMES = ("pay", "die", "wait", "ask", "takeback", "leave")
folder = pathlib.Path(sys.argv[1])


def note(name, text=""):
    with open(folder / name, "a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n")
    sys.stdout.flush()


note("starts")
if (folder / "broken").exists():
    sys.exit(1)
asking = {}
for line in sys.stdin:
    message = json.loads(line)
    method, request = message.get("method"), message.get("id")
    if method is None:
        note("replies", line.strip())
        if request in asking:
            say({"id": asking.pop(request), "result": {"content": []}})
    elif request is None:
        pass
    elif method == "initialize":
        if (folder / "mute").exists():
            continue
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        say({"id": request, "result": {**result, "serverInfo": {"name": "stdio", "version": "1"}}})
    elif method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]
        say({"id": request, "result": {"tools": tools}})
    elif method == "tools/call":
        name = message["params"]["name"]
        note("effects", name)
        if name == "die":
            note("ends")
            sys.exit(1)
        asked = f"up-{request}"
        if name in ("ask", "takeback", "leave"):
            say({"id": asked, "method": "sampling/createMessage", "params": {"maxTokens": 1}})
        if name == "ask":
            asking[asked] = request
        if name == "takeback":
            say({"method": "notifications/cancelled", "params": {"requestId": asked}})
        if name in ("pay", "takeback", "leave"):
            say({"id": request, "result": {"content": []}})
note("ends")
