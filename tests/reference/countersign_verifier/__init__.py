"""A second verifier of bundles, written from docs/spec/evidence.md.

It shares nothing with `host/verifier`, and works differently where it can: it
holds a bundle in memory, collects everything first, and looks at it from
several sides afterwards. It answers five of the eight claims; the other three
need WebAssembly, Cedar, or nothing but the gateway's word.
"""
