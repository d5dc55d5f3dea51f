"""A server on FastMCP, over stdio, with one tool and one resource."""

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


server.run(transport="stdio", show_banner=False)
