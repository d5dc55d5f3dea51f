//! Whether calls are admitted, and why not: what `/readyz` and operators are told
//! comes from here, so that they cannot differ.

use std::time::Duration;

use countersign_ledger::Ledger;

use crate::environment::Environment;

/// How long the ledger may take to say that it is there.
const READY: Duration = Duration::from_secs(1);

/// Why nothing is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// The gateway is being stopped.
    Draining,
    /// The ledger failed; the process ends.
    Failed,
    /// The database is older than it was.
    RolledBack,
    /// The database or the anchor is not there.
    Away,
    /// It is not known what came into force; it is being settled.
    Unsure,
    /// The token file has not been readable for too long.
    Tokens,
}

impl Hindrance {
    pub(crate) const ALL: [Self; 6] = [
        Self::Draining,
        Self::Failed,
        Self::RolledBack,
        Self::Away,
        Self::Unsure,
        Self::Tokens,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Draining => "draining",
            Self::Failed => "failed",
            Self::RolledBack => "rolled-back",
            Self::Away => "away",
            Self::Unsure => "unsure",
            Self::Tokens => "tokens",
        }
    }
}

/// Why a ledger admits nothing. It is asked, since a database can be away, and its
/// writer has a connection of its own.
pub(crate) async fn of_ledger(ledger: &Ledger, environment: &Environment) -> Option<Hindrance> {
    let known = || {
        if ledger.failed() {
            Some(Hindrance::Failed)
        } else if ledger.rolled_back() {
            Some(Hindrance::RolledBack)
        } else {
            (!ledger.admits()).then_some(Hindrance::Away)
        }
    };
    if let Some(hindrance) = known() {
        return Some(hindrance);
    }
    let Ok(nobody) = environment.call_id() else {
        return Some(Hindrance::Away);
    };
    match tokio::time::timeout(READY, ledger.lookup_call(&nobody)).await {
        Ok(Ok(_)) => known(),
        _ => Some(Hindrance::Away),
    }
}
