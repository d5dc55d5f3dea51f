//! Whoever answers an operator: the gateway that runs, or the store of one
//! that is stopped, taken as an incarnation of its own.

use std::path::PathBuf;

use super::api::{
    Abandon, AcceptRollback, BackedUp, Backup, Explained, List, Listed, Place, Reloaded, Resolve,
    Row, Shown, Status, Which,
};
use super::client::{OperatorError, ask, ask_running, reach, runtime};
use super::desk::Desk;
use super::{SOCKET, by_uid};
use crate::config::Store;
use crate::environment::Environment;
use crate::export;

/// An operator's place to ask, from the command line. Every method blocks.
#[derive(Debug)]
pub struct Office {
    runtime: tokio::runtime::Runtime,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Running(PathBuf),
    Stopped(Box<Desk>),
}

macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident ($asked:ty) -> $answer:ty, $path:literal;)+) => {
        $(
            $(#[$doc])*
            ///
            /// # Errors
            /// [`OperatorError`].
            pub fn $name(&self, asked: $asked) -> Result<$answer, OperatorError> {
                self.runtime.block_on(async {
                    match &self.kind {
                        Kind::Running(socket) => ask(socket, $path, &asked).await,
                        Kind::Stopped(desk) => Ok(desk.$name(asked).await?),
                    }
                })
            }
        )+
    };
}

impl Office {
    /// Finds who answers: the gateway that listens in the operator's folder or,
    /// where none does, its store. Opening that blocks what an earlier gateway
    /// left in flight, as a start of the gateway does.
    ///
    /// # Errors
    /// [`OperatorError`]; `ledger-in-use` while somebody else has the store.
    pub fn open(store: &Store, environment: &Environment) -> Result<Self, OperatorError> {
        let runtime = runtime()?;
        let socket = store.operator.join(SOCKET);
        let kind = match runtime.block_on(reach(&socket)) {
            Ok(_) => Kind::Running(socket),
            Err(OperatorError::NotRunning { .. }) => {
                let source = export::open_store(store, environment).map_err(Box::new)?;
                Kind::Stopped(Box::new(Desk {
                    ledger: source.ledger,
                    environment: environment.clone(),
                    operator: by_uid(environment.user),
                    gateway: None,
                }))
            }
            Err(error) => return Err(error),
        };
        Ok(Self { runtime, kind })
    }

    /// Whether a gateway runs on that store.
    ///
    /// # Errors
    /// [`OperatorError`].
    pub fn runs(store: &Store) -> Result<bool, OperatorError> {
        match runtime()?.block_on(reach(&store.operator.join(SOCKET))) {
            Ok(_) => Ok(true),
            Err(OperatorError::NotRunning { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether a gateway answers, and not a store that this process opened.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self.kind, Kind::Running(_))
    }

    /// Closes a store that this process opened, with its last checkpoint.
    ///
    /// # Errors
    /// [`OperatorError`] where something could not be made durable.
    pub fn close(self) -> Result<(), OperatorError> {
        match self.kind {
            Kind::Running(_) => Ok(()),
            Kind::Stopped(desk) => desk
                .ledger
                .stop()
                .map_err(|error| OperatorError::Refused(error.into())),
        }
    }

    /// Makes a running gateway read policies and approvals again.
    ///
    /// # Errors
    /// [`OperatorError`]; also where no gateway runs.
    pub fn reload(store: &Store) -> Result<Reloaded, OperatorError> {
        ask_running(store, "/v1/reload", &())
    }

    questions! {
        /// How the ledger stands.
        status(()) -> Status, "/v1/ledger/status";
        /// Copies the database into a new file.
        backup(Backup) -> BackedUp, "/v1/ledger/backup";
        /// Admits again on a ledger that went back in time.
        accept_rollback(AcceptRollback) -> Place, "/v1/ledger/rollback/accept";
        /// One page of open executions.
        list(List) -> Listed, "/v1/executions/list";
        /// One execution with its entries.
        show(Which) -> Shown, "/v1/executions/show";
        /// What is known of one, what is not, and what to do.
        explain(Which) -> Explained, "/v1/executions/explain";
        /// States an outcome.
        resolve(Resolve) -> Row, "/v1/executions/resolve";
        /// Gives up a round that is awaited.
        abandon(Abandon) -> Row, "/v1/executions/abandon";
    }
}
