"""A small MCP server over stdio, whose folder says how it behaves and keeps what it did.

A file `broken` makes it end at once, `mute` keeps it from ever answering `initialize`, `modern` makes it answer in a
revision that has no such request, `stubborn` keeps it from ending with its input, and `immortal` from ending when it is
asked to. The tool `pay` works, `die` ends the
process without an answer, `wait` never answers. `ask` asks its client for a sample and answers once a reply has come,
`takeback` takes that back and answers, `leave` answers without waiting. `say` writes its argument `text` as it is, as
often as `times` says, and then `after`, with the id of the request for `ID`, the next one for `NEXT`, 11 MiB for `PAD` and
so many bytes as `fill` says for `FILL`; then it ends (`end`), reads no more (`deaf`) or notes that it is `done` and does
neither until there is a file `over` (`stuck`). With `when` it first waits for another request, which it does not read. `help` starts a helper that inherits its `inherits` (`both` its input and
its output, or its `output` alone) and then ends, is `killed` or reads no more (`deaf`); it answers only where it lives on. A line that is no JSON is passed over, as the official SDKs do it.
"""

import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time

NAMES = ("pay", "die", "wait", "ask", "takeback", "leave", "say", "help")
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
folder = pathlib.Path(sys.argv[1])


def note(name, text=""):
    with open(folder / name, "a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n")
    sys.stdout.flush()


if (folder / "immortal").exists():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
note("starts")
note("processes", os.getpid())
if (folder / "broken").exists():
    sys.exit(1)
asking = {}
for line in sys.stdin:
    note("lines", line.strip())
    try:
        message = json.loads(line)
    except ValueError:
        continue
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
        revision = "2026-07-28" if (folder / "modern").exists() else message["params"]["protocolVersion"]
        result = {"protocolVersion": revision, "capabilities": {"tools": {}}}
        say({"id": request, "result": {**result, "serverInfo": {"name": "stdio", "version": "1"}}})
    elif method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]
        say({"id": request, "result": {"tools": tools}})
    elif method == "resources/read":
        say({"id": request, "result": {"contents": []}})
    elif method == "subscriptions/listen":
        meta = {"_meta": {SUBSCRIPTION: request}}
        say({"method": "notifications/subscriptions/acknowledged", "params": meta})
        say({"method": "notifications/resources/updated", "params": {"uri": "test://a", **meta}})
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
        if name == "say":
            arguments = message["params"]["arguments"]
            if "when" in arguments:
                select.select([0], [], [])
            parts = {"ID": str(request), "NEXT": str(request + 1), "PAD": "x" * (11 << 20)}
            parts["FILL"] = "x" * arguments.get("fill", 0)
            texts = [arguments["text"], arguments.get("after", "")]
            for mark, part in parts.items():
                texts = [text.replace(mark, part) for text in texts]
            for _ in range(arguments.get("times", 1)):
                sys.stdout.write(texts[0])
            sys.stdout.write(texts[1])
            sys.stdout.flush()
            if arguments.get("then") == "end":
                sys.exit(1)
            if arguments.get("then") == "deaf":
                os.close(0)
                time.sleep(60)
            if arguments.get("then") == "stuck":
                note("done")
                while not (folder / "over").exists():
                    time.sleep(0.02)
        if name == "help":
            arguments = message["params"]["arguments"]
            fed = None if arguments["inherits"] == "both" else subprocess.DEVNULL
            note("processes", subprocess.Popen(["sleep", "60"], stdin=fed).pid)
            if arguments["then"] == "end":
                os._exit(1)
            if arguments["then"] == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            say({"id": request, "result": {"content": []}})
            os.close(0)
            time.sleep(60)
if (folder / "stubborn").exists():
    time.sleep(60)
note("ends")
