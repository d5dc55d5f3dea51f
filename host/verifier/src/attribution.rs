//! Attribution: whether what a call names had been approved by then.
//!
//! Two things must hold: the log says, before the call, that this policy set,
//! this component and this catalog came into force; and the verifier approves
//! of the first two. What a catalog is approved for is its operator's to say.
//!
//! What came into force is known as long as nothing is missing: where a part
//! leaves entries out, another set may have come into force among them.

use std::collections::{BTreeMap, BTreeSet};

use countersign_canon::Digest;
use countersign_evidence::{Entry, Kind, LogId};

use crate::claim::Claim;
use crate::classification::granted;
use crate::findings::{Findings, Place};
use crate::inputs::Inputs;

/// How many components and policies that were not approved are told.
const STRANGERS: usize = 64;

/// What is in force in each log.
pub(crate) struct Attribution<'i> {
    inputs: &'i Inputs,
    logs: BTreeMap<LogId, InForce>,
    /// Nothing was left out on purpose.
    whole: bool,
    calls: u64,
    /// Components and policies that were named and not approved.
    strangers: BTreeSet<String>,
}

#[derive(Default)]
struct InForce {
    /// The sequence after the last entry.
    next: u64,
    /// Entries before were left out.
    gap: bool,
    policies: Option<Digest>,
    profiles: BTreeMap<String, BTreeSet<Digest>>,
    /// What was approved of each server; none where it was withdrawn.
    catalog: BTreeMap<String, Option<Approved>>,
}

/// The checkpoint over a server's tools, and the place it was approved for.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Approved {
    checkpoint: Digest,
    server: Option<Digest>,
}

impl<'i> Attribution<'i> {
    pub(crate) fn new(inputs: &'i Inputs, whole: bool) -> Self {
        Self {
            inputs,
            logs: BTreeMap::new(),
            whole,
            calls: 0,
            strangers: BTreeSet::new(),
        }
    }

    /// Takes the next entry of the bundle.
    pub(crate) fn entry(&mut self, entry: &Entry, place: &Place, findings: &mut Findings) {
        let said = entry.said();
        let in_force = self.logs.entry(entry.log_id().clone()).or_default();
        if !self.whole && entry.sequence() != in_force.next {
            *in_force = InForce {
                gap: true,
                ..InForce::default()
            };
        }
        in_force.next = entry.sequence().saturating_add(1);
        match said.kind {
            Kind::PolicyLoaded => in_force.policies = said.policy_digest,
            Kind::ProfileLoaded => {
                if let (Some(profile), Some(component)) = (&said.profile, said.component) {
                    in_force
                        .profiles
                        .entry(profile.clone())
                        .or_default()
                        .insert(component);
                }
            }
            Kind::CatalogApproved => {
                if let Some(server) = &said.server {
                    let approved = said.catalog.approved.map(|checkpoint| Approved {
                        checkpoint,
                        server: said.server_digest,
                    });
                    in_force.catalog.insert(server.to_string(), approved);
                }
            }
            _ if granted(said) => self.call(entry, place, findings),
            _ => {}
        }
    }

    /// A call that was permitted.
    fn call(&mut self, entry: &Entry, place: &Place, findings: &mut Findings) {
        let said = entry.said();
        let Some(in_force) = self.logs.get(entry.log_id()) else {
            return;
        };
        self.calls = self.calls.saturating_add(1);
        let claim = Claim::Attribution;
        match (in_force.policies, said.policy_digest) {
            (Some(loaded), Some(named)) if loaded == named => {}
            (Some(loaded), _) => findings.contradict(claim, Some(place), || {
                format!("it was not decided by the policies in force, `{loaded}`")
            }),
            (None, _) => findings.leave_open(claim, Some(place), || {
                "no entry before it says which policies were in force".to_owned()
            }),
        }
        if let (Some(profile), Some(component)) = (&said.profile, said.component) {
            match in_force.profiles.get(profile) {
                Some(loaded) if loaded.contains(&component) => {}
                Some(_) if !in_force.gap => findings.contradict(claim, Some(place), || {
                    format!("its component is not one that was loaded as `{profile}`")
                }),
                _ => findings.leave_open(claim, Some(place), || {
                    format!("no entry before it says that `{profile}` was loaded")
                }),
            }
            if self.inputs.components.find(profile, component).is_none() {
                let stranger = format!("component `{profile}` ({component})");
                remember(&mut self.strangers, stranger);
            }
        }
        if let Some(digest) = said.policy_digest
            && !self.inputs.policies.contains_key(&digest)
        {
            let stranger = format!("set of policies `{digest}`");
            remember(&mut self.strangers, stranger);
        }
        let server = said.server.as_ref();
        let approved = server.and_then(|server| in_force.catalog.get(server.as_str()));
        let attributed = said.catalog.attributed;
        let named = said.catalog.approved;
        match approved.copied().flatten() {
            Some(approved) if named != Some(approved.checkpoint) => {
                findings.contradict(claim, Some(place), || {
                    format!(
                        "it names another catalog than the approved one, `{}`",
                        approved.checkpoint
                    )
                });
            }
            // It says itself that it went by what nobody approved.
            Some(_) if attributed != named => findings.leave_open(claim, Some(place), || {
                "it went by a catalog that was discovered and not approved".to_owned()
            }),
            Some(approved)
                if approved.server.is_none() || approved.server == said.server_digest => {}
            Some(_) => findings.contradict(claim, Some(place), || {
                "its tool was approved for a server at another place".to_owned()
            }),
            None if named.is_some() && approved.is_some() => {
                findings.contradict(claim, Some(place), || {
                    "what was approved of its server had been withdrawn".to_owned()
                });
            }
            None => findings.leave_open(claim, Some(place), || {
                "no entry before it approves its server's tools".to_owned()
            }),
        }
    }

    /// Says what was named without approval.
    pub(crate) fn finish(self, findings: &mut Findings) {
        for stranger in self.strangers {
            findings.leave_open(Claim::Attribution, None, || {
                format!("the {stranger} is not one that you approved")
            });
        }
        if self.calls > 0 {
            findings.show(
                Claim::Attribution,
                format!("{} calls compared with what was in force", self.calls),
            );
        }
    }
}

/// Remembers the first of what was named and not approved.
fn remember(strangers: &mut BTreeSet<String>, stranger: String) {
    if strangers.len() < STRANGERS {
        strangers.insert(stranger);
    }
}
