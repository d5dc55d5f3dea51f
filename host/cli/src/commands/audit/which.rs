//! Which entries are exported.

use clap::Args;
use countersign_evidence::bundle::{Filter, FilterBy};
use countersign_evidence::{Agent, CallId, Entry, ExecutionId, SessionId, Time, WorkflowId};
use countersign_ledger::Selection;

use crate::failure::{Failure, Status};

/// A part of the log; at most one of these, all of it without.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Only the execution that this call opened
    #[arg(long, value_name = "CALL_ID", group = "part")]
    call: Option<String>,
    /// Only one execution of the agent that `--agent` names
    #[arg(
        long,
        value_name = "EXECUTION_ID",
        requires = "agent",
        conflicts_with = "part"
    )]
    execution: Option<String>,
    /// Only what happened under this workflow
    #[arg(long, value_name = "WORKFLOW_ID", group = "part")]
    workflow: Option<String>,
    /// Only what happened in this session, named as entries name it
    #[arg(long, value_name = "SESSION_ID", group = "part")]
    pub(super) session: Option<String>,
    /// Only what this agent caused, in the three words of its entries; an
    /// issuer can be empty
    #[arg(long, num_args = 3, value_names = ["METHOD", "ISSUER", "SUBJECT"], conflicts_with_all = ["part", "after"])]
    agent: Option<Vec<String>>,
    /// Only what was written from this time on (RFC 3339)
    #[arg(
        long,
        value_name = "TIME",
        requires = "before",
        conflicts_with = "part"
    )]
    after: Option<String>,
    /// Only what was written before this time
    #[arg(long, value_name = "TIME", requires = "after", conflicts_with = "part")]
    before: Option<String>,
}

/// A test that says whether an entry belongs to the part.
pub(super) type Keep = Box<dyn FnMut(&Entry) -> bool>;

impl Which {
    /// What a ledger is asked for. A session is not looked for there.
    pub(super) fn selection(&self) -> Result<Selection, Failure> {
        let agent = self.agent()?;
        Ok(match (&self.call, &self.execution, &self.workflow, agent) {
            (Some(call), ..) => Selection::Call(parsed(CallId::new(call))?),
            (_, Some(id), _, Some(agent)) => {
                Selection::Execution(agent, parsed(ExecutionId::new(id))?)
            }
            (_, _, Some(id), _) => Selection::Workflow(parsed(WorkflowId::new(id))?),
            (_, _, _, Some(agent)) => Selection::Agent(agent),
            _ => match self.interval()? {
                Some((after, before)) => Selection::Time(after.micros(), before.micros()),
                None => Selection::All,
            },
        })
    }

    /// What the part is called in its bundle; none for all of the log.
    pub(super) fn filter(&self) -> Result<Option<Filter>, Failure> {
        let name = |by, value: &str| {
            let value = value.to_owned();
            Ok(Some(Filter { by, value }))
        };
        if let Some(id) = &self.execution {
            return name(FilterBy::Execution, id);
        }
        if let Some(id) = &self.workflow {
            return name(FilterBy::Workflow, id);
        }
        if let Some(id) = &self.session {
            return name(FilterBy::Session, id);
        }
        if let Some(agent) = self.agent()? {
            let Agent {
                method,
                issuer,
                subject,
            } = agent;
            return name(FilterBy::Agent, &format!("{method}:{issuer}:{subject}"));
        }
        match self.interval()? {
            Some((after, before)) => name(FilterBy::Time, &format!("{after}/{before}")),
            None => Ok(None),
        }
    }

    /// The same as a test of entries, for a part of a bundle.
    pub(super) fn keep(&self) -> Result<Keep, Failure> {
        let agent = self.agent()?;
        if let (Some(id), Some(agent)) = (&self.execution, &agent) {
            let id = parsed(ExecutionId::new(id))?;
            let agent = agent.clone();
            return Ok(Box::new(move |entry| {
                let said = entry.said();
                said.execution_id.as_ref() == Some(&id) && said.agent.as_ref() == Some(&agent)
            }));
        }
        if let Some(id) = &self.workflow {
            let id = parsed(WorkflowId::new(id))?;
            return Ok(Box::new(move |entry| {
                entry.said().workflow_id.as_ref() == Some(&id)
            }));
        }
        if let Some(id) = &self.session {
            let id = parsed(SessionId::new(id))?;
            return Ok(Box::new(move |entry| {
                entry.said().session_id.as_ref() == Some(&id)
            }));
        }
        if let Some(agent) = agent {
            return Ok(Box::new(move |entry| {
                entry.said().agent.as_ref() == Some(&agent)
            }));
        }
        let interval = self.interval()?;
        Ok(Box::new(move |entry| {
            interval.is_none_or(|(after, before)| (after..before).contains(&entry.said().time))
        }))
    }

    fn agent(&self) -> Result<Option<Agent>, Failure> {
        match self.agent.as_deref() {
            None => Ok(None),
            Some([method, issuer, subject]) => Ok(Some(Agent {
                method: method.clone(),
                issuer: issuer.clone(),
                subject: subject.clone(),
            })),
            Some(_) => Err(Failure::new(Status::USAGE, "an agent has three words")),
        }
    }

    fn interval(&self) -> Result<Option<(Time, Time)>, Failure> {
        let time = |text: &String| {
            Time::parse_rfc3339(text).ok_or_else(|| {
                Failure::new(Status::USAGE, format!("`{text}` is no time"))
                    .with_help("write it like `2026-01-02T03:04:05Z`")
            })
        };
        match (&self.after, &self.before) {
            (Some(after), Some(before)) => Ok(Some((time(after)?, time(before)?))),
            _ => Ok(None),
        }
    }
}

fn parsed<T>(result: Result<T, countersign_evidence::MalformedIdentifier>) -> Result<T, Failure> {
    result.map_err(|error| Failure::new(Status::USAGE, error.to_string()))
}
