"""FastMCP's client, driven line by line as client.py is.

Usage: fastmcp_client.py --url URL --revision REVISION [--token TOKEN]
"""

import argparse
import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from mcp import MCPError


def write(answer: dict) -> None:
    """Answers a step with one line."""
    print(json.dumps(answer, ensure_ascii=False), flush=True)


async def step(client: Client, asked: dict) -> dict:
    """Carries out one step."""
    try:
        if "list" in asked:
            return {"tools": [tool.name for tool in await client.list_tools()]}
        result = await client.call_tool_mcp(
            asked["call"], asked.get("arguments") or {}, meta=asked.get("meta")
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
    transport = StreamableHttpTransport(options.url, headers=headers)
    mode = options.revision if options.revision >= "2026" else "legacy"
    async with Client(transport, mode=mode) as client:
        write({"negotiated": client.protocol_version, "server": None})
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            write(await step(client, json.loads(line)))


asyncio.run(main())
