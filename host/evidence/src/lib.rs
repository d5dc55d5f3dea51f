//! Typed entries, their hashes and chains, and the bundles that carry them.
