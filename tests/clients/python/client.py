"""The official Python client, driven line by line.

Usage: client.py --url URL --revision REVISION [--token TOKEN]

Connects to an MCP server over Streamable HTTP and writes one line of JSON:
{"negotiated": REVISION, "server": NAME}. Then it reads one step per line from
standard input and answers each with one line:

  {"list": true}                                  -> {"tools": [NAME, ...]}
  {"call": NAME, "arguments": {}, "meta": {}}     -> {"result": RESULT}

A JSON-RPC error is {"error": {"code": .., "message": .., "data": ..}}. The
steps and what is expected of them live in tests/tests/foreign_clients.rs; the
Node clients beside this one speak the same lines.
"""

import argparse
import asyncio
import json
import sys

import httpx2
from mcp import MCPError
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client


def write(answer: dict) -> None:
    """Answers a step with one line."""
    print(json.dumps(answer, ensure_ascii=False), flush=True)


async def step(client: Client, asked: dict) -> dict:
    """Carries out one step."""
    try:
        if "list" in asked:
            listed = await client.list_tools()
            return {"tools": [tool.name for tool in listed.tools]}
        result = await client.call_tool(
            asked["call"], asked.get("arguments"), meta=asked.get("meta")
        )
        dumped = result.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return {"result": dumped}
    except MCPError as error:
        told = error.error
        return {"error": {"code": told.code, "message": told.message, "data": told.data}}


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--revision", required=True)
    parser.add_argument("--token")
    options = parser.parse_args()
    headers = {"Authorization": f"Bearer {options.token}"} if options.token else {}
    # The client has two eras; with a handshake it offers its newest revision.
    mode = options.revision if options.revision >= "2026" else "legacy"
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(options.url, http_client=http)
        async with Client(transport, mode=mode) as client:
            info = client.server_info
            write({"negotiated": client.protocol_version, "server": info and info.name})
            loop = asyncio.get_running_loop()
            while line := await loop.run_in_executor(None, sys.stdin.readline):
                write(await step(client, json.loads(line)))


asyncio.run(main())
