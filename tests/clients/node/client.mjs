// The official TypeScript client, second generation: every revision, pinned.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

import { drive, options } from './driver.mjs';

const { url, revision, requestInit } = options();
const modern = revision >= '2026';
const client = new Client(
  { name: 'countersign-tests', version: '1.0.0' },
  modern
    ? { versionNegotiation: { mode: { pin: revision } } }
    : { supportedProtocolVersions: [revision] },
);
const transport = new StreamableHTTPClientTransport(url, { requestInit });
await client.connect(transport);
await drive(client, client.getNegotiatedProtocolVersion());
