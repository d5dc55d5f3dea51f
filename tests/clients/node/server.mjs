// A server on the second TypeScript SDK, over stdio, with one tool.

import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const server = new McpServer({ name: 'typescript', version: '1.0.0' });
server.registerTool(
  'greet',
  { description: 'Greets.', inputSchema: z.object({ name: z.string() }), annotations: { readOnlyHint: true } },
  async ({ name }) => ({ content: [{ type: 'text', text: `Hello, ${name}!` }] }),
);
await server.connect(new StdioServerTransport());
