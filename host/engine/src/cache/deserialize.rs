//! The one unsafe call of the host: reading compiled code back.

use wasmtime::Engine;
use wasmtime::component::Component;

/// Reads what [`Component::serialize`] wrote.
///
/// The caller has checked `code` against a MAC under a key that only this user
/// can read, made by this program when it had compiled and checked the
/// component; it passes the very buffer that it checked.
#[expect(
    unsafe_code,
    reason = "compiled code cannot be validated, so the type system has to take our word for where it comes from"
)]
pub(super) fn component(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: by the MAC, `code` is what `Component::serialize` gave to a
    // process of this user, for a component of this digest and an engine of
    // this compatibility; it is in memory already, so that nobody can change
    // it between the check and here.
    unsafe { Component::deserialize(engine, code) }
}
