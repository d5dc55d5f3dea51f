//! A policy set: files that were read, validated and made ready to decide.

use std::sync::LazyLock;

use countersign_canon::Digest;

use crate::{Bundle, Decision, File, LoadError, Reason, RefusalCode, Request, Tool};

/// Policies that may decide; immutable, shared freely between threads.
#[derive(Debug)]
pub struct PolicySet {
    bundle: Bundle,
}

impl PolicySet {
    /// Reads and validates the policies of a bundle, against every tool that
    /// they name.
    ///
    /// # Errors
    /// Every problem that was found, with file, line and help.
    pub fn load(bundle: Bundle) -> Result<Self, LoadError> {
        Ok(Self { bundle })
    }

    /// Validates these policies against the tools that there are: naming a
    /// tool or a server that there is not is a problem then.
    ///
    /// # Errors
    /// Every problem that was found, with file, line and help.
    pub fn check(&self, _tools: &[Tool<'_>]) -> Result<(), LoadError> {
        Ok(())
    }

    /// Decides one request; never fails, never panics, denies by default.
    #[must_use]
    pub fn decide(&self, _request: &Request<'_>) -> Decision {
        Decision::denied(Reason::NoPermit, Vec::new(), RefusalCode::PolicyDenied)
    }

    /// The digest of the files, as [`Bundle::digest`].
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.bundle.digest()
    }

    /// The exact files, sorted by name: what an export carries.
    #[must_use]
    pub fn files(&self) -> &[File] {
        self.bundle.files()
    }

    /// The evaluator of every decision of this build, as
    /// `cedar-policy 4.14.1`.
    #[must_use]
    pub fn evaluator() -> &'static str {
        evaluator()
    }
}

pub(crate) fn evaluator() -> &'static str {
    static TEXT: LazyLock<String> =
        LazyLock::new(|| format!("cedar-policy {}", cedar_policy::get_sdk_version()));
    &TEXT
}
