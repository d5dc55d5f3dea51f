// What the servers on the second TypeScript SDK serve: one tool.

import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

export function greeter() {
  const server = new McpServer({ name: 'typescript', version: '1.0.0' });
  server.registerTool(
    'greet',
    { description: 'Greets.', inputSchema: z.object({ name: z.string() }), annotations: { readOnlyHint: true } },
    async ({ name }) => ({ content: [{ type: 'text', text: `Hello, ${name}!` }] }),
  );
  return server;
}
