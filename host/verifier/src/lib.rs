//! Checks a bundle with no network, no store and no trust in its author.
