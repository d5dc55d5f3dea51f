// The official TypeScript SDK, first generation: revisions with a handshake.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { drive, options } from './driver.mjs';

const { url, requestInit } = options();
const client = new Client({ name: 'countersign-tests', version: '1.0.0' });
const transport = new StreamableHTTPClientTransport(url, { requestInit });
await client.connect(transport);
await drive(client, transport.protocolVersion);
