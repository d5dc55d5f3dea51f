//! One authenticated request, and what its entry says of it.

use std::sync::Arc;

use bytes::Bytes;
use countersign_canon::{Code, Document, Id, Limits, Refusal, preimage};
use countersign_engine::Profile;
use countersign_evidence::{
    Agent, CallId, Draft, ExecutionId, ExecutionIdStatus, Kind, Target, Time, WorkflowId,
};
use countersign_identity::Facts;
use countersign_mcp::{Headers, Problem, Revision, client};

use super::Bound;
use crate::delivery::Cancel;
use crate::session::Session;
use crate::state::Server;
use crate::telemetry::Trace;

/// An authenticated request whose message is not read yet, or is no call.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) call_id: CallId,
    pub(crate) agent: Agent,
    /// What else authentication established.
    pub(crate) facts: Facts,
    pub(crate) server: Arc<Server>,
    /// The profile for new calls when it arrived: all of it is read by one.
    pub(crate) profile: Profile,
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) revision: Option<Revision>,
    pub(crate) at: Time,
}

/// An attempt at a tool call.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) arrival: Arrival,
    pub(crate) revision: Revision,
    pub(crate) headers: Headers,
    /// The raw bytes; none any more once classification has ended for good.
    pub(crate) message: Bytes,
    /// Why the profile in force does not admit it, where it does not: then it
    /// may be nothing but what was recorded under another one.
    pub(crate) refused: Option<Refusal>,
    pub(crate) id: Id,
    pub(crate) execution_id: Option<ExecutionId>,
    pub(crate) workflow_id: Option<WorkflowId>,
    /// The canonical client context.
    pub(crate) context: Vec<u8>,
    /// The token under which the caller wants progress, in JSON.
    pub(crate) progress: Option<Vec<u8>>,
    pub(crate) bound: Bound,
    /// The call that opened the execution: this one's or, in a later round, the
    /// first one's.
    pub(crate) opened_by: CallId,
    /// Whether the caller still wants an answer.
    pub(crate) cancel: Cancel,
    /// Whether the caller takes an event stream.
    pub(crate) streams: bool,
    /// What is told of it to those who watch.
    pub(crate) trace: Arc<Trace>,
}

impl Arrival {
    /// What an entry says of an attempt of which nothing more is known.
    pub(crate) fn draft(&self, kind: Kind) -> Draft {
        let mut draft = Draft::new(kind, self.at);
        draft.call_id = Some(self.call_id.clone());
        draft.agent = Some(self.agent.clone());
        draft
            .represented_user
            .clone_from(&self.facts.represented_user);
        draft.authority.clone_from(&self.facts.authority);
        draft.session_id = self.session.as_ref().map(|session| session.id.clone());
        draft.revision = self.revision.map(|revision| revision.as_str().to_owned());
        draft.server = Some(self.server.name.clone());
        draft.server_digest = Some(self.server.digest);
        draft.execution_id_status = Some(ExecutionIdStatus::Unread);
        draft
    }
}

impl Attempt {
    /// Where the call goes.
    pub(crate) fn target(&self) -> Target {
        Target {
            server: self.arrival.server.name.clone(),
            server_digest: self.arrival.server.digest,
            tool: self.bound.interpreted.tool.clone(),
        }
    }

    /// Whether the caller's progress token is one. It is no part of the action,
    /// so it is looked at once a repeat is known to be none.
    ///
    /// # Errors
    /// `params`, where it is none.
    pub(crate) fn has_a_token_or_none(&self) -> Result<(), Box<Problem>> {
        let Some(token) = &self.progress else {
            return Ok(());
        };
        let read = Document::read(token, Limits::STANDARD);
        if read.is_ok_and(|token| client::is_progress_token(token.root())) {
            return Ok(());
        }
        Err(Box::new(Problem::not_admitted(Refusal {
            code: Code::Params,
            pointer: client::PROGRESS_TOKEN.to_owned(),
            offset: u32::try_from(self.message.len()).unwrap_or(u32::MAX),
        })))
    }

    /// What an entry says of it before it is decided.
    pub(crate) fn draft(&self) -> Draft {
        let bound = &self.bound;
        let mut draft = self.arrival.draft(Kind::Admission);
        draft.execution_id.clone_from(&self.execution_id);
        draft.execution_id_status = Some(match self.execution_id {
            Some(_) => ExecutionIdStatus::Present,
            None => ExecutionIdStatus::Absent,
        });
        draft.workflow_id.clone_from(&self.workflow_id);
        draft.client_digest = Some(preimage::client_context(&self.context));
        // With sessions the request does not carry it, so the entry does.
        draft.client = self
            .arrival
            .session
            .as_ref()
            .and_then(|_| String::from_utf8(self.context.clone()).ok());
        draft.tool = Some(bound.interpreted.tool.clone());
        draft.profile = Some(bound.profile.id().to_string());
        draft.world = Some(bound.profile.world().to_owned());
        draft.component = Some(bound.profile.component_digest());
        draft.binding = Some(bound.interpreted.binding);
        draft.continuation = bound
            .continuation
            .as_ref()
            .map(|continuation| continuation.digest);
        draft.request_state_presented = bound
            .continuation
            .as_ref()
            .and_then(|continuation| continuation.request_state);
        draft
    }
}
