//! Carries out what an operator asks, on an open ledger.
//!
//! The listener of a running gateway and the command line on the store of a
//! stopped one both ask here, so that they cannot answer differently. Who the
//! operator is was settled before: a [`Desk`] belongs to one.

use std::path::PathBuf;
use std::sync::Arc;

use countersign_canon::{Digest, Outcome};
use countersign_evidence::{
    self as evidence, CallId, Draft, Entry, ExecutionId, Kind, RefusalCode, Resolution,
};
use countersign_ledger::{
    Act, BackupError, Execution, Illegal, Ledger, LedgerError, Selection, Standing, Which as Meant,
    explain, late_answer, parse_outcome,
};

use super::api::{
    Abandon, AcceptRollback, BackedUp, Backup, Explained, List, Listed, Place, Refused, Resolve,
    Row, Shown, Status, Which,
};
use super::catalogs::whole;
use crate::environment::Environment;
use crate::readiness::of_ledger;
use crate::state::Gateway;

/// Executions on one page, where nothing else is asked for, and at most.
const PAGE: usize = 100;
const MOST: usize = 1_000;
/// Open executions that are looked at for one page.
const LOOKED_AT: usize = 20_000;
/// Entries that are read at once, and refusals of one execution that are shown: the
/// newest.
const MOST_ENTRIES: usize = 1_000;
/// A reason, in bytes.
const MOST_REASON: usize = 4_096;

/// Where one operator is served.
#[derive(Clone, Debug)]
pub(super) struct Desk {
    pub(super) ledger: Ledger,
    pub(super) environment: Environment,
    /// Who asks, as the log will have it.
    pub(super) operator: String,
    /// The gateway that runs, if one does.
    pub(super) gateway: Option<Arc<Gateway>>,
}

impl Desk {
    pub(super) async fn status(&self, (): ()) -> Result<Status, Refused> {
        let hindrance = match &self.gateway {
            Some(gateway) => gateway.hindrance().await,
            None => of_ledger(&self.ledger, &self.environment).await,
        };
        let head = self.ledger.head().await?;
        Ok(Status {
            log_id: head.log_id.to_string(),
            size: head.size,
            last: head.last.map(|last| last.to_string()),
            incarnation: self.ledger.incarnation().get(),
            rolled_back: self.ledger.rolled_back(),
            hindrance: hindrance.map(|hindrance| hindrance.as_str().to_owned()),
        })
    }

    pub(super) async fn backup(&self, asked: Backup) -> Result<BackedUp, Refused> {
        let file = PathBuf::from(asked.file);
        if !file.is_absolute() {
            return Err(Refused::malformed("`file` is an absolute path"));
        }
        let ledger = self.ledger.clone();
        let copied = tokio::task::spawn_blocking(move || ledger.backup(&file)).await;
        let refused = |error: &dyn std::fmt::Display| Refused {
            code: BackupError::CODE.to_owned(),
            message: error.to_string(),
        };
        match copied {
            Ok(Ok(bytes)) => Ok(BackedUp { bytes }),
            Ok(Err(error)) => Err(refused(&error)),
            Err(error) => Err(refused(&error)),
        }
    }

    pub(super) async fn accept_rollback(&self, asked: AcceptRollback) -> Result<Place, Refused> {
        let draft = self.draft(Kind::Rollback, &asked.reason, asked.evidence.as_deref())?;
        let place = match &self.gateway {
            None => self.ledger.accept_rollback(draft, Vec::new()).await?.0,
            Some(gateway) => {
                let gateway = Arc::clone(gateway);
                whole(async move { gateway.accept_rollback(draft).await }).await??
            }
        };
        Ok((&place).into())
    }

    pub(super) async fn list(&self, asked: List) -> Result<Listed, Refused> {
        let limit = asked.limit.unwrap_or(PAGE);
        if !(1..=MOST).contains(&limit) {
            return Err(Refused::malformed(format!("`limit` is 1 to {MOST}")));
        }
        let standings = match asked.state.as_deref() {
            None => vec![
                Standing::InFlight,
                Standing::AwaitingInput,
                Standing::TaskOpen,
                Standing::Blocked,
            ],
            Some("in-flight") => vec![Standing::InFlight],
            Some("awaiting-input") => vec![Standing::AwaitingInput],
            Some("task-open") => vec![Standing::TaskOpen],
            Some("blocked") => vec![Standing::Blocked],
            Some(_) => {
                return Err(Refused::malformed(
                    "`state` is `in-flight`, `awaiting-input`, `task-open` or `blocked`",
                ));
            }
        };
        let wanted = |execution: &Execution| {
            let subject = asked.subject.as_ref();
            subject.is_none_or(|subject| *subject == execution.agent.subject)
        };
        let (mut after, mut looked_at) = (asked.after, 0);
        let mut executions = Vec::new();
        loop {
            let page = self.numbered(&standings, after, MOST).await?;
            let more = page.len() == MOST;
            for (number, execution) in &page {
                after = *number;
                if !wanted(execution) {
                    continue;
                }
                if executions.len() == limit {
                    let next = executions.last().and_then(|row: &Row| row.number);
                    return Ok(Listed { executions, next });
                }
                executions.push(Row::of(Some(*number), execution));
            }
            looked_at += page.len();
            if !more || looked_at >= LOOKED_AT {
                let next = more.then_some(after);
                return Ok(Listed { executions, next });
            }
        }
    }

    /// The first `most` of several standings after a number, in order.
    async fn numbered(
        &self,
        standings: &[Standing],
        after: i64,
        most: usize,
    ) -> Result<Vec<(i64, Execution)>, Refused> {
        let mut all = Vec::new();
        for standing in standings {
            all.extend(self.ledger.list(*standing, after, most).await?);
        }
        all.sort_by_key(|(number, _)| *number);
        all.truncate(most);
        Ok(all)
    }

    pub(super) async fn show(&self, which: Which) -> Result<Shown, Refused> {
        let execution = self.find(&which).await?;
        let mut log = Vec::new();
        for entry in self.chain(&execution).await? {
            let read = serde_json::from_slice(entry.bytes());
            log.push(read.map_err(|_| Refused::from(LedgerError::Unavailable))?);
        }
        Ok(Shown {
            execution: Row::of(None, &execution),
            log,
        })
    }

    pub(super) async fn explain(&self, which: Which) -> Result<Explained, Refused> {
        let execution = self.find(&which).await?;
        let chain = self.chain(&execution).await?;
        let explained = explain(&execution, &chain);
        Ok(Explained {
            known: explained.known,
            unknown: explained.unknown,
            next: explained.next,
            commands: explained.commands,
        })
    }

    pub(super) async fn resolve(&self, asked: Resolve) -> Result<Row, Refused> {
        let stated = asked.outcome.as_deref().map(outcome).transpose()?;
        let outcome = match (stated, asked.late_answer) {
            (Some(outcome), false) => outcome,
            (None, true) => {
                let execution = self.find(&asked.which).await?;
                let chain = self.chain(&execution).await?;
                late_answer(&chain)
                    .ok_or_else(|| Refused::malformed("no late answer came for this execution"))?
            }
            _ => {
                return Err(Refused::malformed(
                    "either `outcome` or `late_answer` says what is stated",
                ));
            }
        };
        if outcome == Outcome::NotAttempted {
            let execution = self.find(&asked.which).await?;
            // A row of before late answers moved it does not say that one came.
            if late_answer(&self.chain(&execution).await?).is_some() {
                return Err(LedgerError::Illegal(Illegal::Outcome).into());
            }
        }
        let draft = self.draft(Kind::Resolution, &asked.reason, asked.evidence.as_deref())?;
        self.act(&asked.which, Act::Resolve(outcome), draft).await
    }

    pub(super) async fn abandon(&self, asked: Abandon) -> Result<Row, Refused> {
        let mut draft = self.draft(Kind::Terminal, &asked.reason, asked.evidence.as_deref())?;
        // INVARIANT: the code is made of letters.
        draft.refusal = RefusalCode::new("abandoned").ok();
        self.act(&asked.which, Act::Abandon, draft).await
    }

    async fn act(&self, which: &Which, act: Act, draft: Draft) -> Result<Row, Refused> {
        let execution = self.ledger.act(meant(which)?, act, draft).await?;
        Ok(Row::of(None, &execution))
    }

    /// An entry that says who asks, and why.
    fn draft(&self, kind: Kind, reason: &str, evidence: Option<&str>) -> Result<Draft, Refused> {
        let mut draft = Draft::new(kind, self.environment.now());
        draft.resolution = Some(self.resolution(reason, evidence)?);
        Ok(draft)
    }

    pub(super) fn resolution(
        &self,
        reason: &str,
        evidence: Option<&str>,
    ) -> Result<Resolution, Refused> {
        let reason = reason.trim();
        if reason.is_empty() || reason.len() > MOST_REASON {
            return Err(Refused::malformed(format!(
                "`reason` is 1 to {MOST_REASON} bytes"
            )));
        }
        let evidence = evidence.map(str::parse::<Digest>);
        Ok(Resolution {
            operator: self.operator.clone(),
            reason: reason.to_owned(),
            evidence: evidence.transpose().map_err(|_| {
                Refused::malformed("`evidence` is `sha256:` and 64 hexadecimal digits")
            })?,
        })
    }

    async fn find(&self, which: &Which) -> Result<Execution, Refused> {
        let found = match meant(which)? {
            Meant::Call(call_id) => self.ledger.lookup_call(&call_id).await?,
            Meant::Execution(agent, id) => self.ledger.lookup(&agent, &id).await?,
        };
        found.ok_or_else(|| LedgerError::NotFound.into())
    }

    /// The entries on an execution, in all logs: of refusals, which are as many as
    /// callers like, the newest, and of everything else all.
    async fn chain(&self, execution: &Execution) -> Result<Vec<Entry>, Refused> {
        let selection = Selection::Call(execution.call_id.clone());
        let mut chain: Vec<Entry> = Vec::new();
        for log in self.ledger.logs().await? {
            let log_id = &log.head.log_id;
            let mut from = Some(0);
            while let Some(at) = from {
                let page = self.ledger.entries_of(log_id, &selection, at, MOST_ENTRIES);
                let page = page.await?;
                let parsed = page
                    .entries
                    .iter()
                    .map(|stored| Entry::parse(&stored.bytes));
                chain.extend(parsed.filter_map(Result::ok));
                shorten(&mut chain);
                from = page.next;
            }
        }
        Ok(chain)
    }
}

/// Drops all refusals but the newest.
fn shorten(chain: &mut Vec<Entry>) {
    // The execution's own order goes across logs.
    chain.sort_by_key(|entry| entry.link().map(|link| link.execution_seq));
    let refusal = |entry: &Entry| entry.said().kind == Kind::Refusal;
    let refusals = chain.iter().filter(|entry| refusal(entry)).count();
    let mut old = refusals.saturating_sub(MOST_ENTRIES);
    chain.retain(|entry| {
        let dropped = old > 0 && refusal(entry);
        old -= usize::from(dropped);
        !dropped
    });
}

fn meant(which: &Which) -> Result<Meant, Refused> {
    Ok(match which {
        Which::Call { call_id } => Meant::Call(CallId::new(call_id).map_err(Refused::malformed)?),
        Which::Execution {
            agent,
            execution_id,
        } => Meant::Execution(
            evidence::Agent::from(agent.clone()),
            ExecutionId::new(execution_id).map_err(Refused::malformed)?,
        ),
    })
}

fn outcome(text: &str) -> Result<Outcome, Refused> {
    parse_outcome(text).ok_or_else(|| {
        Refused::malformed(
            "`outcome` is `succeeded`, `tool-error`, `upstream-error`, `not-attempted` or \
             `outcome-unknown`",
        )
    })
}
