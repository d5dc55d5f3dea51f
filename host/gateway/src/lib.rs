//! The HTTP front, identity, the way of a call, and the upstreams.
