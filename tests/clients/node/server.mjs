// A server on the second TypeScript SDK, over stdio.

import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { greeter } from './greeter.mjs';

await greeter().connect(new StdioServerTransport());
