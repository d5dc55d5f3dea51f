"""A server on FastMCP, with one tool and one resource: over stdio, or with `--http` on a free port of loopback."""

import socket
import sys

from fastmcp import FastMCP

server = FastMCP("fastmcp")


@server.tool(annotations={"readOnlyHint": True})
def add(a: int, b: int) -> int:
    """Adds two integers."""
    return a + b


@server.resource("test://greeting")
def greeting() -> str:
    """A text that never changes."""
    return "hello"


if "--http" in sys.argv[1:]:
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    server.run(transport="http", sockets=[listening], show_banner=False)
else:
    server.run(transport="stdio", show_banner=False)
