// A server on the first TypeScript SDK, over Streamable HTTP on a free port of loopback, in sessions, with one tool.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const sessions = new Map();

async function session(id) {
  if (sessions.has(id)) return sessions.get(id);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (minted) => sessions.set(minted, transport),
  });
  const server = new McpServer({ name: 'typescript', version: '1.0.0' });
  server.registerTool(
    'greet',
    { description: 'Greets.', inputSchema: { name: z.string() }, annotations: { readOnlyHint: true } },
    async ({ name }) => ({ content: [{ type: 'text', text: `Hello, ${name}!` }] }),
  );
  await server.connect(transport);
  return transport;
}

const server = createServer(async (request, response) => {
  const body = request.method === 'POST' ? await json(request) : undefined;
  const transport = await session(request.headers['mcp-session-id']);
  await transport.handleRequest(request, response, body);
});
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}/mcp`));
