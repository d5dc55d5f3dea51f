// The same over Streamable HTTP on a free port of loopback: up to 2025-11-25 in sessions, in 2026-07-28 without them.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import { greeter } from './greeter.mjs';

const sessions = new Map();
const modern = toNodeHandler(createMcpHandler(greeter, { legacy: 'reject' }));

async function session(id) {
  if (sessions.has(id)) return sessions.get(id);
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (minted) => sessions.set(minted, transport),
  });
  await greeter().connect(transport);
  return transport;
}

const server = createServer(async (request, response) => {
  const body = request.method === 'POST' ? await json(request) : undefined;
  if (await isLegacyRequest(await toWebRequest(request, body))) {
    const transport = await session(request.headers['mcp-session-id']);
    await transport.handleRequest(request, response, body);
  } else {
    await modern(request, response, body);
  }
});
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}/mcp`));
