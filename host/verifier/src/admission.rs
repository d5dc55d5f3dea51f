//! Admission: the requests at hand, read again by the components that the
//! entries name.
//!
//! A request finds its entry by its `execution_id` and binding. What the entry
//! says besides (tool, workflow, continuation, client context) must follow from
//! the request too. An entry whose request is not at hand stays open; it is
//! counted, and nothing is claimed of it.

use std::collections::HashMap;

use countersign_canon::{Admitted, Call, Digest, ProfileId, preimage};
use countersign_evidence::bundle::Opened;
use countersign_evidence::{Blinding, Draft, Entry, ExecutionId, Kind, WorkflowId};

use crate::claim::Claim;
use crate::component::{Component, Meaning};
use crate::decision::Decisions;
use crate::findings::{Findings, Place};
use crate::inputs::{Inputs, RequestFile};

/// The requests at hand, and what became of each.
pub(crate) struct Requests<'i> {
    inputs: &'i Inputs,
    files: Vec<Found<'i>>,
    attempts: u64,
}

/// One request.
struct Found<'i> {
    file: &'i RequestFile,
    /// Its readings by component, as which profile it is named.
    readings: HashMap<(String, Digest), Result<Reading, String>>,
    matched: u64,
    first: Option<Place>,
    /// The first entry that should have been its own and differs.
    differs: Option<(Place, String)>,
    /// Why nothing could be read, at first.
    failed: Option<String>,
}

/// What one component makes of one request.
pub(crate) struct Reading {
    pub(crate) call: Call,
    pub(crate) meaning: Meaning,
    continuation: Option<Digest>,
    request_state: Option<Digest>,
    client: Digest,
}

impl Reading {
    fn new(component: &dyn Component, message: &[u8]) -> Result<Self, String> {
        let call = match component.admit(message)? {
            Ok(Admitted::Call(call)) => call,
            Ok(_) => return Err("it is no `tools/call`".to_owned()),
            Err(refusal) => {
                return Err(format!(
                    "it is refused with `{}`, and the entry of such an attempt does not say what it was",
                    refusal.code
                ));
            }
        };
        let meaning = match component.interpret(&call.action)? {
            Ok(meaning) => meaning,
            Err(refusal) => return Err(format!("its action is refused with `{}`", refusal.code)),
        };
        let id: &ProfileId = component.id();
        let round = call.continuation.as_ref();
        Ok(Self {
            continuation: round
                .map(|round| preimage::continuation(id, &meaning.binding, &round.canonical)),
            request_state: round
                .and_then(|round| round.request_state.as_deref())
                .map(preimage::request_state),
            client: preimage::client_context(&call.client),
            call,
            meaning,
        })
    }

    /// The first thing that the entry says otherwise, with the same binding.
    fn difference(&self, said: &Draft, opened: Option<&Opened>) -> Option<&'static str> {
        let text = |id: Option<&str>| id.map(str::to_owned);
        let workflow = text(said.workflow_id.as_ref().map(WorkflowId::as_str));
        // With sessions the client context is not the request's alone.
        let stateless = said.client.is_none() && said.client_digest.is_some();
        if said.tool.as_deref() != Some(&self.meaning.tool) {
            Some("tool")
        } else if workflow != self.call.workflow_id {
            Some("workflow_id")
        } else if said.continuation != self.continuation.map(|own| blinded(own, opened)) {
            Some("continuation")
        } else if said.request_state_presented != self.request_state {
            Some("request_state_presented")
        } else if stateless && said.client_digest != Some(self.client) {
            Some("client_digest")
        } else {
            None
        }
    }
}

impl<'i> Requests<'i> {
    pub(crate) fn new(inputs: &'i Inputs) -> Self {
        let found = |file| Found {
            file,
            readings: HashMap::new(),
            matched: 0,
            first: None,
            differs: None,
            failed: None,
        };
        Self {
            inputs,
            files: inputs.requests.iter().map(found).collect(),
            attempts: 0,
        }
    }

    /// Compares an attempt with every request at hand.
    pub(crate) fn entry(
        &mut self,
        entry: &Entry,
        (place, opened): (&Place, Option<&Opened>),
        decisions: &mut Decisions<'_>,
        findings: &mut Findings,
    ) {
        let said = entry.said();
        check_client(said, place, findings);
        if !matches!(said.kind, Kind::Admission | Kind::Refusal | Kind::Round) {
            return;
        }
        let (Some(profile), Some(digest)) = (said.profile.as_deref(), said.component) else {
            return;
        };
        if said.blind == Blinding::Withheld {
            self.closed(said, "it met no row, and what it brought is left out");
            return;
        }
        let Some(binding) = said.binding else {
            return;
        };
        if said.blind == Blinding::Salted && opened.is_none() {
            self.attempts = self.attempts.saturating_add(1);
            self.closed(said, "it is blinded, and no salt opens it");
            return;
        }
        self.attempts = self.attempts.saturating_add(1);
        for found in &mut self.files {
            let component = self.inputs.components.find(profile, digest);
            let reading = found
                .readings
                .entry((profile.to_owned(), digest))
                .or_insert_with(|| match component {
                    Some(component) => Reading::new(component, &found.file.message),
                    None => Err(format!(
                        "the component of `{profile}` ({digest}) is not one that you approved"
                    )),
                });
            let reading = match reading {
                Ok(reading) => reading,
                Err(reason) => {
                    found.failed.get_or_insert_with(|| reason.clone());
                    continue;
                }
            };
            let id = said.execution_id.as_ref().map(ExecutionId::as_str);
            if id != reading.call.execution_id.as_deref() {
                continue;
            }
            if blinded(reading.meaning.binding, opened) != binding {
                if id.is_some() {
                    let reason = format!(
                        "`{}` binds to `{}`, the entry says `{binding}`",
                        found.file.name, reading.meaning.binding
                    );
                    found.differs.get_or_insert_with(|| (place.clone(), reason));
                }
            } else if let Some(member) = reading.difference(said, opened) {
                let reason = format!(
                    "`{}` has its binding, and another `{member}`",
                    found.file.name
                );
                found.differs.get_or_insert_with(|| (place.clone(), reason));
            } else {
                found.matched = found.matched.saturating_add(1);
                found.first.get_or_insert_with(|| place.clone());
                decisions.check(said, reading, place, findings);
            }
        }
    }

    /// Notes of the requests with an entry's identifier that it stays closed.
    fn closed(&mut self, said: &Draft, reason: &'static str) {
        let id = said.execution_id.as_ref().map(ExecutionId::as_str);
        for found in &mut self.files {
            let known = found.readings.values().flatten().next();
            let other = known.is_some_and(|reading| reading.call.execution_id.as_deref() != id);
            if !other {
                found
                    .failed
                    .get_or_insert_with(|| format!("an entry that may be about it: {reason}"));
            }
        }
    }

    /// Says what became of each request.
    pub(crate) fn finish(self, findings: &mut Findings) {
        if self.files.is_empty() {
            findings.leave_open(Claim::Admission, None, || {
                "no request is at hand".to_owned()
            });
        }
        for found in &self.files {
            let name = &found.file.name;
            match (&found.first, &found.differs, &found.failed) {
                (Some(first), _, _) => findings.show(
                    Claim::Admission,
                    format!("`{name}` was read again as {} of {} attempts say, the first of them {first}", found.matched, self.attempts),
                ),
                (None, Some((place, reason)), _) => {
                    findings.contradict(Claim::Admission, Some(place), || reason.clone());
                }
                (None, None, Some(reason)) => {
                    findings.leave_open(Claim::Admission, None, || format!("`{name}`: {reason}"));
                }
                (None, None, None) => findings.leave_open(Claim::Admission, None, || {
                    format!("no entry is about `{name}`")
                }),
            }
        }
    }
}

/// A digest as a blinded entry has it.
fn blinded(value: Digest, opened: Option<&Opened>) -> Digest {
    opened.map_or(value, |opened| opened.salt.blind(&value))
}

/// A client context that stands in an entry must be the one that is digested.
fn check_client(said: &Draft, place: &Place, findings: &mut Findings) {
    let Some(text) = &said.client else { return };
    if said.client_digest != Some(preimage::client_context(text.as_bytes())) {
        findings.contradict(Claim::Admission, Some(place), || {
            "its client context does not have the digest that it gives".to_owned()
        });
    }
}
