//! MCP revisions, envelopes, headers, errors and the SSE codec, without I/O.
