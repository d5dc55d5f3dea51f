"""FastMCP's client, driven line by line as driver.py says."""

import asyncio

from driver import Driven, drive, options
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport


async def main() -> None:
    given = options()
    transport = StreamableHttpTransport(given.url, headers=given.headers)
    async with Client(transport, mode=given.mode) as client:

        async def call_tool(name, arguments, meta):
            return await client.call_tool_mcp(name, arguments or {}, meta=meta)

        await drive(Driven(client.protocol_version, None, client.list_tools, call_tool))


asyncio.run(main())
