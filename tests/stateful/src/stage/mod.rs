//! A real gateway to play on, with everything that it needs in a folder: in this
//! process, or the real binary.
//!
//! Both are configured alike. What only one of them can (a store's faults, a
//! clock that is moved) is asked of the one that can; plans that need more than
//! the binary offers are not played on it.

mod folder;
mod inside;
mod outside;
mod saboteur;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use crate::plan::{Act, Fault, Plan};
use crate::upstream::Upstream;
pub(crate) use folder::{TOKENS, cache, policies, policies_into};
use inside::Inside;
use outside::Outside;

/// Where a plan is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum On {
    /// In this process.
    Process,
    /// On the real binary.
    Binary,
}

impl On {
    /// Whether it can play a plan as it is meant.
    #[must_use]
    pub fn can(self, plan: &Plan) -> bool {
        let of_its_own = |act: &Act| matches!(act, Act::Look(_));
        self == Self::Process
            || plan
                .steps
                .iter()
                .all(|step| step.fault.is_none() && !of_its_own(&step.act))
    }
}

impl On {
    /// Everywhere that a plan can be played.
    pub fn all_of(plan: &Plan) -> impl Iterator<Item = Self> {
        [Self::Process, Self::Binary]
            .into_iter()
            .filter(|on| on.can(plan))
    }
}

/// What ends the gateway from the upstream's side.
pub(crate) type Ends = Arc<dyn Fn() + Send + Sync>;

/// A gateway with its folder.
pub(crate) enum Stage {
    Process(Inside),
    Binary(Outside),
}

macro_rules! on_either {
    ($self:ident, $stage:ident => $asked:expr) => {
        match $self {
            Self::Process($stage) => $asked,
            Self::Binary($stage) => $asked,
        }
    };
}

impl Stage {
    pub(crate) fn new(on: On, upstream: &Upstream) -> Self {
        match on {
            On::Process => Self::Process(Inside::new(upstream)),
            On::Binary => Self::Binary(Outside::new(upstream)),
        }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        on_either!(self, stage => stage.folder())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        on_either!(self, stage => stage.address())
    }

    /// The key of its log, as it was at the first start.
    pub(crate) fn key(&self) -> String {
        on_either!(self, stage => stage.key())
    }

    /// Starts it; says why where it does not run afterwards.
    pub(crate) fn start(&mut self, fault: Option<Fault>) -> Result<(), String> {
        on_either!(self, stage => stage.start(fault))
    }

    /// Stops it in good order.
    pub(crate) fn stop(&mut self) -> Result<(), String> {
        on_either!(self, stage => stage.stop())
    }

    pub(crate) fn kill(&mut self) {
        on_either!(self, stage => stage.kill());
    }

    /// What kills it where nobody can ask the stage.
    pub(crate) fn ends(&self) -> Ends {
        on_either!(self, stage => stage.ends())
    }

    /// A fault for what happens from here on.
    pub(crate) fn arm(&mut self, fault: Fault) {
        if let Self::Process(stage) = self {
            stage.arm(fault);
        }
    }

    /// Takes the fault away; whether it has happened.
    pub(crate) fn disarm(&mut self) -> bool {
        match self {
            Self::Process(stage) => stage.disarm(),
            Self::Binary(_) => false,
        }
    }

    /// Resolves once it is dead.
    pub(crate) fn died(&self) -> tokio::sync::watch::Receiver<bool> {
        on_either!(self, stage => stage.died())
    }

    /// Waits for one that has met what it cannot go on after.
    pub(crate) fn ended_by_itself(&mut self) -> Result<(), String> {
        match self {
            Self::Process(stage) => stage.ended_by_itself(),
            Self::Binary(_) => Err("it has no fault to end by".to_owned()),
        }
    }

    /// So many seconds go by, as far as it knows.
    pub(crate) fn later(&self, seconds: u64) {
        if let Self::Process(stage) = self {
            stage.later(seconds);
        }
    }

    /// With this profile by default, from the next start on.
    pub(crate) fn profile(&mut self, name: &str) {
        let folder = self.folder();
        folder::configure(&folder, on_either!(self, stage => stage.upstream()), name);
    }
}
