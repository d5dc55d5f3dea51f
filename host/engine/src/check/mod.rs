//! The checks that a component passes before it is a profile
//! (`docs/spec/action-binding.md` §5): of its form without running it, of its
//! exports, and of what it says about itself.

/// Raised whenever [`form`] refuses something else than before: compiled code
/// that was kept is held by it against what passed, and compiled again.
pub(crate) const VERSION: u32 = 1;

mod exports;
mod form;
mod self_test;

pub(crate) use exports::exports;
pub(crate) use form::{Instructions, form};
pub(crate) use self_test::{describe, self_test};

#[cfg(test)]
mod tests {
    use countersign_canon::Digest;

    use super::VERSION;

    #[test]
    fn whoever_changes_the_check_raises_its_version() {
        let text = Digest::of(&[include_bytes!("form.rs")]);
        let known = (
            1,
            "sha256:97df7328b1ac8046588a5e0753d6ffcb57d66ff602b2891fee59e80f45adc6c6",
        );
        assert_eq!((VERSION, text.as_str()), known);
    }
}
