//! Whether an upstream can be spoken to, asked before anything is reserved.
//!
//! [`Upstream::ready`] asks the breaker and opens what is not open yet; whoever
//! holds a reservation is past the breaker, and only tells it what it met.

use countersign_evidence::Agent;
use tokio::time::Instant;

use super::breaker::{Condition, Unready};
use super::request::{Exchange, Reason};
use super::{Kind, Trace, Upstream};

impl Upstream {
    /// Opens an agent's session where there is none, so that it is known
    /// before anything is reserved whether the upstream can be spoken to.
    ///
    /// # Errors
    /// Why it cannot, and when it is tried again where it was not tried.
    pub(crate) async fn ready(&self, agent: &Agent) -> Result<(), Unready> {
        // A process that runs is proof enough.
        if let Kind::Stdio(stdio) = &self.kind
            && stdio.runs(agent)
        {
            return Ok(());
        }
        let pass = self.breaker.ask(Instant::now())?;
        match self.open(agent, pass.is_suspicious()).await {
            Ok(()) => {
                // Otherwise nothing may have been tried.
                if pass.is_suspicious() {
                    pass.reached();
                }
                Ok(())
            }
            Err(unready) => {
                if unready.counts() {
                    pass.failed(Instant::now());
                }
                Err(unready)
            }
        }
    }

    /// The same for whoever has passed the breaker already.
    pub(super) async fn ready_still(&self, agent: &Agent) -> Result<(), Reason> {
        self.open(agent, false).await.map_err(|unready| {
            if unready.counts() {
                self.breaker.failed(Instant::now());
            }
            unready.reason
        })
    }

    async fn open(&self, agent: &Agent, prove: bool) -> Result<(), Unready> {
        match &self.kind {
            Kind::Http(http) => http.prepare(agent, self.revision, prove).await,
            Kind::Stdio(stdio) => stdio.prepare(agent, self.revision).await,
        }
    }

    /// Tells the breaker what an exchange met: an answer, whatever it says, or
    /// that no connection came about.
    pub(super) fn met<T>(&self, exchange: &Exchange<T>, trace: &Trace) {
        if matches!(self.kind, Kind::Stdio(_)) || trace.waited() {
            // A process that is there needs no connection, and another's attempt
            // is that one's to tell of.
            return;
        }
        match exchange {
            Exchange::Answered(_) => self.breaker.reached(),
            Exchange::NotSent(Reason::Unreachable | Reason::Timeout) => {
                self.breaker.failed(Instant::now());
            }
            Exchange::NotSent(_) | Exchange::Unanswered { .. } => {}
        }
    }

    /// As an operator sees it.
    pub(crate) fn condition(&self) -> Condition {
        self.breaker.condition(Instant::now())
    }
}
