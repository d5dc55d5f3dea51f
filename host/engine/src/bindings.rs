//! The world `countersign:admission@1.0.0`, as wasmtime's macro reads it.
//!
//! The generated types stay in this crate; `convert` turns them into the
//! vocabulary that the rest of the house speaks.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    reason = "generated from wit/"
)]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "admission",
});

pub(crate) use self::exports::countersign::admission::profile;
