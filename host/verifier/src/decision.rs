//! Decision: the same policies, on the same inputs, asked again.
//!
//! The policies are those of the verifier, or the bundle's own where they have
//! the digest that the entry names; whether they were approved is the business
//! of attribution. Another version of the evaluator establishes nothing.

use std::collections::BTreeMap;

use countersign_canon::Digest;
use countersign_catalog::{Offer, Shape};
use countersign_evidence::bundle::Policy;
use countersign_evidence::{Draft, OBSERVED};
use countersign_policy::{
    Agent, Bundle, Class, Decision, Identity, PolicyId, PolicySet, Request, Tool,
};

use crate::admission::Reading;
use crate::claim::Claim;
use crate::classification::granted;
use crate::findings::{Findings, Place};
use crate::inputs::Inputs;

/// The policies at hand, and how many decisions were made again.
pub(crate) struct Decisions<'i> {
    inputs: &'i Inputs,
    /// Those of the bundle, which are read only where a decision needs them
    /// and the verifier has none of that digest.
    carried: BTreeMap<Digest, Carried>,
    /// What was approved, by its checkpoint.
    catalogs: BTreeMap<Digest, Offer>,
    made: u64,
}

/// A set of policies as a bundle carries it.
enum Carried {
    Files(Bundle),
    Loaded(Box<PolicySet>),
    /// It holds no policies that this version can evaluate.
    Useless,
}

impl Carried {
    fn load(&mut self) -> Option<&PolicySet> {
        if let Self::Files(files) = self {
            let loaded = PolicySet::recorded(files.clone());
            *self = loaded.map_or(Self::Useless, |set| Self::Loaded(Box::new(set)));
        }
        match self {
            Self::Loaded(set) => Some(set),
            Self::Files(_) | Self::Useless => None,
        }
    }
}

impl<'i> Decisions<'i> {
    /// Takes the policies that a bundle carries. Those whose folder does not
    /// have their digest contradict it.
    pub(crate) fn new(
        inputs: &'i Inputs,
        files: &[Policy],
        offers: &[(Digest, Vec<u8>)],
        findings: &mut Findings,
    ) -> Self {
        let mut catalogs = BTreeMap::new();
        for (checkpoint, text) in offers {
            let offer = Offer::from_json(text).ok();
            match offer.filter(|offer| offer.checkpoint() == *checkpoint) {
                Some(offer) => drop(catalogs.insert(*checkpoint, offer)),
                None => findings.contradict(Claim::Attribution, None, || {
                    format!(
                        "the catalog that the bundle calls `{checkpoint}` has another checkpoint"
                    )
                }),
            }
        }
        let mut folders: BTreeMap<Digest, Vec<(String, String)>> = BTreeMap::new();
        let mut damaged = Vec::new();
        for file in files {
            match String::from_utf8(file.content.clone()) {
                Ok(text) => folders
                    .entry(file.set)
                    .or_default()
                    .push((file.path.clone(), text)),
                Err(_) => damaged.push(file.set),
            }
        }
        let mut carried = BTreeMap::new();
        for (digest, files) in folders {
            let bundle = Bundle::of(files).ok();
            match bundle.filter(|bundle| bundle.digest() == digest && !damaged.contains(&digest)) {
                Some(bundle) => drop(carried.insert(digest, Carried::Files(bundle))),
                None => damaged.push(digest),
            }
        }
        for digest in damaged {
            findings.contradict(Claim::Decision, None, || {
                format!("the policies that the bundle calls `{digest}` have another digest")
            });
        }
        Self {
            inputs,
            carried,
            catalogs,
            made: 0,
        }
    }

    /// Whether an attempt went on as was decided, be its request at hand or not.
    pub(crate) fn entry(said: &Draft, place: &Place, findings: &mut Findings) {
        let denied = said
            .refusal
            .as_ref()
            .is_some_and(|code| code.as_str() == "policy-denied");
        let claim = Claim::Decision;
        match (&said.decision, granted(said), denied) {
            (Some(decision), true, _)
                if !decision.allow && !decision.reason.starts_with(OBSERVED) =>
            {
                findings.contradict(claim, Some(place), || {
                    "it was permitted and denied".to_owned()
                });
            }
            (Some(decision), _, true) if decision.allow => {
                findings.contradict(claim, Some(place), || {
                    "it was denied and allowed".to_owned()
                });
            }
            (None, true, _) | (None, _, true) => findings.leave_open(claim, Some(place), || {
                "what was decided about it is not recorded".to_owned()
            }),
            _ => {}
        }
    }

    /// Decides again what an entry says was decided about a request at hand.
    pub(crate) fn check(
        &mut self,
        said: &Draft,
        reading: &Reading,
        place: &Place,
        findings: &mut Findings,
    ) {
        let Some(decision) = &said.decision else {
            return;
        };
        let again = self.decide(said, reading);
        let again = match again {
            Ok(again) => again,
            Err(reason) => {
                findings.leave_open(Claim::Decision, Some(place), || reason);
                return;
            }
        };
        let determining: Vec<&str> = again.determining().iter().map(PolicyId::as_str).collect();
        if decision.allow != again.allow()
            || decision
                .reason
                .strip_prefix(OBSERVED)
                .unwrap_or(&decision.reason)
                != again.reason().as_str()
            || decision.determining != determining
        {
            findings.contradict(Claim::Decision, Some(place), || {
                format!(
                    "it says `{}` by {:?}; decided again it is `{}` by {determining:?}",
                    decision.reason,
                    decision.determining,
                    again.reason().as_str(),
                )
            });
        } else {
            self.made = self.made.saturating_add(1);
        }
    }

    /// What of the arguments had one type, by the catalog that was approved and
    /// that the call was attributed to.
    fn shape(&self, said: &Draft) -> Result<Option<Shape>, String> {
        let (Some(approved), attributed) = (said.catalog.approved, said.catalog.attributed) else {
            return Ok(None);
        };
        if attributed != Some(approved) {
            return Ok(None);
        }
        let offer = self.catalogs.get(&approved);
        let offer = offer.ok_or_else(|| format!("the catalog `{approved}` is not at hand"))?;
        let tool = said.tool.as_deref().and_then(|tool| offer.tool(tool));
        let tool = tool.ok_or_else(|| format!("the catalog `{approved}` has no such tool"))?;
        let schema = tool.input_schema();
        Ok(schema.as_deref().and_then(Shape::of_schema))
    }

    fn decide(&mut self, said: &Draft, reading: &Reading) -> Result<Decision, String> {
        let lacks = |what: &str| format!("its decision names no {what}");
        let shape = self.shape(said)?;
        let digest = said.policy_digest.ok_or_else(|| lacks("policies"))?;
        let set = match self.inputs.policies.get(&digest) {
            Some(set) => Some(set),
            None => self.carried.get_mut(&digest).and_then(Carried::load),
        };
        let set = set.ok_or_else(|| format!("the policies `{digest}` are not at hand"))?;
        let evaluator = said
            .evaluator
            .as_deref()
            .ok_or_else(|| lacks("evaluator"))?;
        if evaluator != PolicySet::evaluator() {
            return Err(format!(
                "it was decided by `{evaluator}`, this is `{}`",
                PolicySet::evaluator()
            ));
        }
        let agent = said.agent.as_ref().ok_or_else(|| lacks("agent"))?;
        let inputs = said.policy_inputs.as_ref().ok_or_else(|| lacks("inputs"))?;
        let class: Class = inputs.class.parse().map_err(|_| lacks("known class"))?;
        let server = said.server.as_ref().ok_or_else(|| lacks("server"))?;
        let client = match &said.client {
            Some(client) => client.as_bytes(),
            None => &reading.call.client,
        };
        Ok(set.decide(&Request {
            agent: Agent {
                method: &agent.method,
                issuer: &agent.issuer,
                subject: &agent.subject,
            },
            identity: Identity {
                represented_user: said.represented_user.as_deref(),
                audience: inputs.audience.as_deref(),
                proof_key: inputs.proof_key.as_deref(),
                authority: said.authority.as_deref(),
            },
            tool: Tool {
                server: server.as_str(),
                name: &reading.meaning.tool,
                class,
            },
            view: &reading.meaning.view,
            shape: shape.as_ref(),
            execution_id: reading.call.execution_id.as_deref(),
            workflow_id: reading.call.workflow_id.as_deref(),
            client,
            continuation: reading
                .call
                .continuation
                .as_ref()
                .map(|c| c.canonical.as_slice()),
            revision: said.revision.as_deref().ok_or_else(|| lacks("revision"))?,
        }))
    }

    /// Says how many decisions were made again.
    pub(crate) fn finish(self, findings: &mut Findings) {
        if self.made > 0 {
            findings.show(
                Claim::Decision,
                format!("{} decisions made again, the same", self.made),
            );
        } else {
            findings.leave_open(Claim::Decision, None, || {
                "no request is at hand whose decision could be made again".to_owned()
            });
        }
    }
}
