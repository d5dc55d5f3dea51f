"""The official Python client, driven line by line as driver.py says."""

import asyncio

import httpx2
from driver import Driven, drive, options
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client


async def main() -> None:
    given = options()
    async with httpx2.AsyncClient(headers=given.headers, timeout=60) as http:
        transport = streamable_http_client(given.url, http_client=http)
        async with Client(transport, mode=given.mode) as client:
            info = client.server_info

            async def list_tools():
                return (await client.list_tools()).tools

            async def call_tool(name, arguments, meta):
                return await client.call_tool(name, arguments, meta=meta)

            await drive(Driven(client.protocol_version, info and info.name, list_tools, call_tool))


asyncio.run(main())
