//! A message that was admitted, on its way to whoever answers it.
//!
//! Do headers, message and session tell one story? Then a call goes its way in a
//! task of its own, so that a client that goes away takes nothing with it; so does
//! every other request, whether it is answered here or passed on.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use countersign_canon::{Admitted, Call, Code, Document, Id, Limits, Notification, Refusal, Reply};
use countersign_engine::Profile;
use countersign_evidence::{ExecutionId, WorkflowId};
use countersign_mcp::asks::Ask;
use countersign_mcp::client::{Mirrored, REPLY};
use countersign_mcp::conformity::{self, MessageFacts};
use countersign_mcp::methods::Method;
use countersign_mcp::{ErrorCode, HeaderFault, Headers, Problem, Revision, envelope};

use super::accept::Accepts;
use super::{methods, relay, respond};
use crate::delivery;
use crate::identity::Standing;
use crate::pipeline::{self, Arrival, Attempt, Bound, fault, interpret};
use crate::pipeline::{unread, unread_because};
use crate::session::Claim;
use crate::state::Gateway;
use crate::telemetry::{Parent, Stage, Trace};

/// A message that was admitted.
pub(super) struct Received {
    pub(super) gateway: Arc<Gateway>,
    pub(super) arrival: Arrival,
    pub(super) accepts: Accepts,
    /// The credential with which it came.
    pub(super) standing: Standing,
    pub(super) message: Bytes,
    /// The profile that admitted it.
    pub(super) reader: Profile,
    /// Why the one in force did not, where that is another.
    pub(super) refused: Option<Refusal>,
    /// The header, which counts where the message has none.
    pub(super) traceparent: Option<String>,
}

impl Received {
    pub(super) async fn dispatch(
        mut self,
        headers: Result<Headers, HeaderFault>,
        admitted: Admitted,
    ) -> Response {
        let id = match &admitted {
            Admitted::Call(call) => Some(call.id.clone()),
            Admitted::Request(request) => Some(request.id.clone()),
            Admitted::Notification(_) | Admitted::Reply(_) => None,
        };
        let headers = match headers {
            Ok(headers) => headers,
            Err(fault) => return self.header_fault(&fault, id.as_ref()).await,
        };
        match admitted {
            Admitted::Call(call) => {
                let begun = self.gateway.environment.monotonic();
                let bound = interpret(&self.gateway.profiles.rooms, &self.reader, &call).await;
                took(&self.gateway, Stage::Interpret, begun);
                let bound = match bound {
                    Ok(bound) => bound,
                    Err(said) => {
                        let refused = fault(&self.gateway, &self.arrival, &said).await;
                        return respond::reply(refused.reply(id.as_ref()));
                    }
                };
                let mirrored = Mirrored::of_call(&bound.interpreted.tool, &call.client);
                let facts = mirrored.facts("tools/call", true);
                match self.settle_revision(&headers, &facts) {
                    Ok(revision) => self.call(headers, revision, call, bound).await,
                    Err(problem) => self.refuse_because(*problem, id.as_ref()).await,
                }
            }
            Admitted::Request(request) => {
                let mirrored = Mirrored::of_params(&request.method, request.params.as_deref());
                let facts = mirrored.facts(&request.method, true);
                match self.settle_revision(&headers, &facts) {
                    Ok(revision) => match Method::find(&request.method) {
                        Some(method) => relay::relay(self, revision, method, request).await,
                        None => {
                            let Self {
                                gateway,
                                arrival,
                                message,
                                ..
                            } = self;
                            methods::answer(gateway, arrival, revision, request, message).await
                        }
                    },
                    Err(problem) => self.refuse_because(*problem, id.as_ref()).await,
                }
            }
            Admitted::Notification(said) => {
                let mirrored = Mirrored::of_params(&said.method, said.params.as_deref());
                let facts = mirrored.facts(&said.method, false);
                match self.settle_revision(&headers, &facts) {
                    Ok(_) => {
                        self.take_note(&said);
                        respond::accepted()
                    }
                    Err(problem) => self.refuse_because(*problem, None).await,
                }
            }
            Admitted::Reply(reply) => match self.settle_revision(&headers, &REPLY) {
                Ok(_) if self.answers(&reply) => respond::accepted(),
                Ok(_) => self.refuse(ErrorCode::UnsolicitedReply, None).await,
                Err(problem) => self.refuse_because(*problem, None).await,
            },
        }
    }

    /// Gives a reply, as it was written, to the server that asked; false where
    /// nothing was asked in this session under its id.
    fn answers(&self, reply: &Reply) -> bool {
        let Some(session) = &self.arrival.session else {
            return false;
        };
        let Ok(document) = Document::read(&self.message, Limits::STANDARD) else {
            return false;
        };
        let raw = |name: &str| document.root().get(name).map(|item| item.raw().to_vec());
        let answer = match (raw("result"), raw("error")) {
            (Some(result), None) => Ok(result),
            (_, error) => Err(error.unwrap_or_default()),
        };
        session.answer(&reply.id, answer)
    }

    /// A cancel reaches the request that it names, if that is this session's and
    /// still open; changed roots are told to a server that may ask for them. All
    /// other notifications are taken and mean nothing here.
    fn take_note(&self, said: &Notification) {
        if said.method == "notifications/roots/list_changed" {
            self.tell_of_roots();
        }
        if said.method != "notifications/cancelled" {
            return;
        }
        if let (Some(session), Some(params)) = (&self.arrival.session, &said.params)
            && let Some(id) = id_at(params, "requestId")
        {
            session.cancel(&id);
        }
    }

    fn tell_of_roots(&self) {
        let Arrival { server, agent, .. } = &self.arrival;
        if !server.upstream.permitted().has(Ask::Roots) || self.arrival.session.is_none() {
            return;
        }
        // Where there is no place the server is not told; it may ask at any time.
        let Some(place) = self.gateway.limits.place(agent, &server.name, None) else {
            return;
        };
        let (server, agent) = (Arc::clone(server), agent.clone());
        tokio::spawn(async move {
            let _place = place;
            let method = "notifications/roots/list_changed";
            server.upstream.tell(&agent, method, None).await;
        });
    }

    /// Finds the session and the revision; both are then part of the arrival.
    fn settle_revision(
        &mut self,
        headers: &Headers,
        facts: &MessageFacts<'_>,
    ) -> Result<Revision, Box<Problem>> {
        let stated = headers.version.unwrap_or(super::UNSTATED);
        self.arrival.revision = Some(stated);
        let opening = facts.method == Some("initialize");
        if stated.has_sessions() && !opening {
            let secret = headers.session.as_deref();
            let found = secret.map(|secret| {
                let Arrival { agent, server, .. } = &self.arrival;
                self.gateway.sessions.find(secret, agent, &server.name)
            });
            match found {
                Some(None) => return Err(Problem::new(ErrorCode::UnknownSession).into()),
                Some(Some(session)) => self.arrival.session = Some(session),
                None => {}
            }
        }
        let agreed = self
            .arrival
            .session
            .as_ref()
            .map(|session| session.revision);
        let revision = conformity::revision(headers, facts, agreed)
            .map_err(|misfit| Problem::new(misfit.code()).because(misfit.problem()))?;
        if revision.has_sessions() && !opening && self.arrival.session.is_none() {
            return Err(Problem::new(ErrorCode::SessionRequired).into());
        }
        Ok(revision)
    }

    async fn call(
        self,
        headers: Headers,
        revision: Revision,
        call: Call,
        bound: Bound,
    ) -> Response {
        let has_task = bound.interpreted.view.root().get("task").is_some();
        if has_task && !revision.has_tasks()
            || call.continuation.is_some() && !revision.has_rounds()
        {
            let pointer = if has_task { "/params/task" } else { "/params" };
            let problem = Problem::not_admitted(Refusal {
                code: Code::Params,
                pointer: pointer.to_owned(),
                offset: u32::try_from(self.message.len()).unwrap_or(u32::MAX),
            })
            .because("not part of this protocol version");
            return self.refuse_because(problem, Some(&call.id)).await;
        }
        let claim = match &self.arrival.session {
            None => None,
            Some(session) => match session.claim(&call.id) {
                Some(claim) => Some(claim),
                None => return self.refuse(ErrorCode::DuplicateId, Some(&call.id)).await,
            },
        };
        let Some(alive) = self.gateway.running.enter() else {
            return self.refuse(ErrorCode::ShuttingDown, Some(&call.id)).await;
        };
        let trace = self.follow(&call, &bound);
        let context = match &self.arrival.session {
            Some(session) => session.context(),
            None => call.client,
        };
        let attempt = Attempt {
            revision,
            headers,
            message: self.message,
            refused: self.refused,
            id: call.id,
            // INVARIANT: the profile admits only what these types hold.
            execution_id: call.execution_id.and_then(|id| ExecutionId::new(&id).ok()),
            workflow_id: call.workflow_id.and_then(|id| WorkflowId::new(&id).ok()),
            context,
            progress: envelope::member_of(&call.transport, "progressToken").map(<[u8]>::to_vec),
            bound,
            opened_by: self.arrival.call_id.clone(),
            cancel: claim.as_ref().map(Claim::cancel).unwrap_or_default(),
            trace,
            streams: self.accepts.events,
            arrival: self.arrival,
        };
        let gateway = self.gateway;
        let account = gateway.untaken.account(&attempt.arrival.agent);
        let (outbox, inbox) = delivery::channel(account);
        tokio::spawn(async move {
            pipeline::run(&gateway, attempt, outbox, claim).await;
            drop(alive);
        });
        respond::deliver(inbox, self.accepts).await
    }

    /// Follows a call, as part of the trace that its message names or, without
    /// one, its headers.
    fn follow(&self, call: &Call, bound: &Bound) -> Arc<Trace> {
        let Gateway {
            telemetry,
            environment,
            ..
        } = &*self.gateway;
        let said = envelope::member_of(&call.transport, "traceparent");
        let said = said.and_then(|json| std::str::from_utf8(json).ok());
        let said = said.map(|text| text.trim_matches('"'));
        let parent = said.or(self.traceparent.as_deref()).and_then(Parent::read);
        let trace = telemetry.follow(parent, environment);
        trace.say("countersign.call_id", self.arrival.call_id.as_str());
        trace.say("countersign.server", self.arrival.server.name.as_str());
        trace.say("countersign.tool", &bound.interpreted.tool);
        if let Some(id) = &call.execution_id {
            trace.say("countersign.execution_id", id);
        }
        trace
    }

    async fn header_fault(&self, fault: &HeaderFault, id: Option<&Id>) -> Response {
        let mut problem = Problem::new(fault.code());
        if let HeaderFault::UnsupportedVersion { requested } = fault {
            problem.requested_version = Some(requested.clone());
        }
        self.refuse_because(problem, id).await
    }

    async fn refuse(&self, code: ErrorCode, id: Option<&Id>) -> Response {
        respond::reply(unread(&self.gateway, &self.arrival, code).await.reply(id))
    }

    async fn refuse_because(&self, problem: Problem, id: Option<&Id>) -> Response {
        respond::reply(
            unread_because(&self.gateway, &self.arrival, problem)
                .await
                .reply(id),
        )
    }
}

/// The id that stands in a member of an object.
pub(super) fn id_at(object: &[u8], member: &str) -> Option<Id> {
    let document = Document::read(object, Limits::STANDARD).ok()?;
    let id = document.root().get(member)?;
    id.integer()
        .map(Id::Number)
        .or_else(|| Some(Id::Text(id.text()?.into_owned())))
}

/// Counts the time of a stage that has passed.
pub(super) fn took(gateway: &Gateway, stage: Stage, begun: Duration) {
    let now = gateway.environment.monotonic();
    let metrics = &gateway.telemetry.metrics;
    metrics.stage(stage, now.saturating_sub(begun));
}
