// What both TypeScript clients share: the lines they read and write.
//
// The lines are those of tests/clients/python/driver.py; the steps and what is
// expected of them live in tests/tests/foreign_clients.rs.

import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

/** The command line: --url URL --revision REVISION [--token TOKEN]. */
export function options() {
  const { values } = parseArgs({
    options: {
      url: { type: 'string' },
      revision: { type: 'string' },
      token: { type: 'string' },
    },
  });
  const headers = values.token ? { Authorization: `Bearer ${values.token}` } : {};
  return { url: new URL(values.url), revision: values.revision, requestInit: { headers } };
}

/** Answers one step with one line. */
function write(answer) {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

async function step(client, asked) {
  try {
    if ('list' in asked) {
      const { tools } = await client.listTools();
      return { tools: tools.map((tool) => tool.name) };
    }
    const { call: name, arguments: given, meta: _meta } = asked;
    return { result: await client.callTool({ name, arguments: given, _meta }) };
  } catch (error) {
    if (typeof error.code !== 'number') throw error;
    const { code, message, data } = error;
    return { error: { code, message, data } };
  }
}

/** Reads steps until standard input ends, then closes the client. */
export async function drive(client, negotiated) {
  write({ negotiated, server: client.getServerVersion()?.name ?? null });
  for await (const line of createInterface({ input: process.stdin })) {
    write(await step(client, JSON.parse(line)));
  }
  await client.close();
}
