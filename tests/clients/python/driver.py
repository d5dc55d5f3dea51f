"""What both Python clients share: the lines that they read and write.

Each is run as NAME.py --url URL --revision REVISION [--token TOKEN], connects to an MCP server over Streamable HTTP and
writes one line of JSON: {"negotiated": REVISION, "server": NAME}. Then it reads one step per line from standard input
and answers each with one line:

  {"list": true}                                  -> {"tools": [NAME, ...]}
  {"call": NAME, "arguments": {}, "meta": {}}     -> {"result": RESULT}

A JSON-RPC error is {"error": {"code": .., "message": .., "data": ..}}. The steps and what is expected of them live in
tests/tests/foreign_clients.rs; the other clients speak the same lines.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mcp import MCPError
from mcp.types import CallToolResult, Tool


@dataclass
class Options:
    """The command line."""

    url: str
    headers: dict[str, str]
    # The client has two eras; with a handshake it offers its newest revision.
    mode: str


@dataclass
class Driven:
    """A client that is connected."""

    negotiated: str
    server: str | None
    list_tools: Callable[[], Awaitable[list[Tool]]]
    call_tool: Callable[[str, Any, Any], Awaitable[CallToolResult]]


def options() -> Options:
    """Reads the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--revision", required=True)
    parser.add_argument("--token")
    given = parser.parse_args()
    headers = {"Authorization": f"Bearer {given.token}"} if given.token else {}
    return Options(given.url, headers, given.revision if given.revision >= "2026" else "legacy")


def write(answer: dict) -> None:
    """Answers a step with one line."""
    print(json.dumps(answer, ensure_ascii=False), flush=True)


async def step(client: Driven, asked: dict) -> dict:
    """Carries out one step."""
    try:
        if "list" in asked:
            return {"tools": [tool.name for tool in await client.list_tools()]}
        result = await client.call_tool(asked["call"], asked.get("arguments"), asked.get("meta"))
        return {"result": result.model_dump(mode="json", by_alias=True, exclude_unset=True)}
    except MCPError as error:
        told = error.error
        return {"error": {"code": told.code, "message": told.message, "data": told.data}}


async def drive(client: Driven) -> None:
    """Reads steps until standard input ends."""
    write({"negotiated": client.negotiated, "server": client.server})
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        write(await step(client, json.loads(line)))
