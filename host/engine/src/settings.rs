//! What an engine is given when it is made.
//!
//! Nothing here is read from the environment: whoever starts the process says
//! how many instances may run at once, where compiled code may be kept, and
//! where randomness for the cache's key comes from.

use std::path::PathBuf;

/// How many components may run at the same time unless something else is said.
pub const DEFAULT_SLOTS: u32 = 32;

/// The most that [`Settings::slots`] may ask for.
pub const MAX_SLOTS: u32 = 512;

/// How an [`Engine`](crate::Engine) is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many instances may exist at once, 1 to [`MAX_SLOTS`]; a call beyond
    /// that waits for a slot. Each one reserves address space, not memory.
    pub slots: u32,
    /// Where compiled code is kept between runs; without it every load compiles.
    pub cache: Option<CacheSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            slots: DEFAULT_SLOTS,
            cache: None,
        }
    }
}

/// Where compiled code is kept, and how its key is made.
#[derive(Clone, Debug)]
pub struct CacheSettings {
    /// A folder that belongs to the user of this process and to nobody else;
    /// made with mode 0700 where it does not exist.
    pub folder: PathBuf,
    /// Fills a buffer with unpredictable bytes, or says that it cannot. Used
    /// once, when the folder has no key yet.
    pub random: fn(&mut [u8]) -> bool,
}

/// How an engine to certify with compiles: what a profile says must not depend
/// on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiled {
    /// As where it is served: optimized, its memory from a pool.
    AsServed,
    /// Not optimized, its memory made for each instance.
    Plainly,
}
