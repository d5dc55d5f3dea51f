//! What a vendor of a profile needs: a scaffold for a crate of their own, and
//! the way from that crate to a component.
//!
//! The released profiles are built by the same code (`cargo xtask guest`), so
//! what a vendor builds differs from them in its rule alone. The command line
//! calls this as `countersign profile new` and `profile build`. Whether a
//! component is any good is not judged here: the engine loads it, and
//! certification tries it.

mod build;
mod component;
mod error;
mod scaffold;
mod sources;
mod toolchain;

pub use build::{Package, Workspace};
pub use component::{Floats, component};
pub use error::KitError;
pub use scaffold::{FIRST_VERSION, Scaffold};
pub use toolchain::{TARGET, Toolchain};
