//! What the command reads of its surroundings: where this user's cache is, and
//! randomness for its key. Nothing else here reads either.

use std::path::PathBuf;

/// `$XDG_CACHE_HOME/countersign`, or `~/.cache/countersign`; none where neither
/// variable is an absolute path.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads it"
)]
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("countersign"))
}

/// Fills a buffer with unpredictable bytes, or says that it cannot.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads it"
)]
pub(crate) fn random(bytes: &mut [u8]) -> bool {
    getrandom::fill(bytes).is_ok()
}
