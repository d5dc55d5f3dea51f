//! A small honest gateway: it writes the entries that a real one writes, for
//! calls of every sort, and exports them. Tests then lie about them.

#![allow(dead_code, unused_imports, reason = "each test uses its part")]

mod asked;
mod brought;
mod export;
pub mod golden;
mod kinds;

pub use asked::Asked;
pub use export::Export;

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;

use countersign_canon::{
    Admitted, Classification, Difference, Digest, Numbers, Outcome, ProfileId, preimage,
};
use countersign_evidence::bundle::{Opening, Proof};
use countersign_evidence::checkpoint::Checkpoint;
use countersign_evidence::key::SigningKey;
use countersign_evidence::proof::Collector;
use countersign_evidence::{
    Agent, Classified, Decision, Draft, EffectBoundary, Entry, ExecutionIdStatus, Head, Kind, Link,
    LogId, PolicyInputs, Receipt, Resolution, Round, RoundSays, Salt, Suppressed, Task, Time,
};
use countersign_policy::{Bundle, PolicySet};
use countersign_verifier::{Component, Inputs, Native, Report, RequestFile, verify};

pub const PROFILE: &str = "exact@1.0.0";
pub const COMPONENT: &[u8] = b"the component's bytes";

pub fn digest(text: &str) -> Digest {
    Digest::of(&[text.as_bytes()])
}

pub fn native(component: &[u8]) -> Native {
    Native::new(
        PROFILE.parse().unwrap(),
        Digest::of(&[component]),
        Numbers::AsWritten,
    )
}

pub fn key(seed: u8) -> SigningKey {
    key_of(&log_id("log.example/1"), seed)
}

pub fn key_of(log: &LogId, seed: u8) -> SigningKey {
    SigningKey::from_seed(log.clone(), &[seed; 32])
}

pub fn log_id(text: &str) -> LogId {
    LogId::new(text).unwrap()
}

pub struct World {
    /// The log that is written now.
    pub head: Head,
    /// The other logs of the fleet.
    pub others: BTreeMap<LogId, Head>,
    pub entries: Vec<Entry>,
    pub requests: Vec<(String, Vec<u8>)>,
    component: Vec<u8>,
    policies: PolicySet,
    chains: HashMap<String, Link>,
    /// Whether executions that are reserved from now on are blinded.
    pub blind: bool,
    salts: HashMap<String, Salt>,
    /// What was admitted, by row.
    bindings: HashMap<String, Digest>,
    clock: i64,
    calls: u32,
}

/// What was approved of the server that everything calls.
pub fn catalog() -> countersign_catalog::Offer {
    let tools = [
        r#"{"name":"transfér","inputSchema":{"type":"object"}}"#,
        r#"{"name":"balance","inputSchema":{"type":"object"}}"#,
        r#"{"name":"wipe","inputSchema":{"type":"object"}}"#,
    ];
    let tools = tools.map(|text| countersign_catalog::Descriptor::read(text.as_bytes()).unwrap());
    countersign_catalog::Offer::new("ledger", digest("server"), tools)
}

impl World {
    pub fn new() -> Self {
        Self::of(COMPONENT)
    }

    /// A gateway that loaded this component.
    pub fn of(component: &[u8]) -> Self {
        let mut world = Self {
            component: component.to_vec(),
            head: Head::new(log_id("log.example/1")),
            others: BTreeMap::new(),
            entries: Vec::new(),
            requests: Vec::new(),
            policies: PolicySet::load(Bundle::shipped()).unwrap(),
            chains: HashMap::new(),
            blind: false,
            salts: HashMap::new(),
            bindings: HashMap::new(),
            clock: 1_767_323_045_000_006,
            calls: 0,
        };
        world.begin();
        world
    }

    /// What a replica writes when it starts.
    fn begin(&mut self) {
        let mut start = self.draft(Kind::Start);
        start.incarnation = Some("1".into());
        self.append(start, None);
        let mut profile = self.draft(Kind::ProfileLoaded);
        profile.profile = Some(PROFILE.into());
        profile.component = Some(Digest::of(&[&self.component]));
        profile.world = Some("countersign:admission@1.0.0".into());
        self.append(profile, None);
        let mut policies = self.draft(Kind::PolicyLoaded);
        policies.policy_digest = Some(self.policies.digest());
        policies.evaluator = Some(PolicySet::evaluator().into());
        self.append(policies, None);
        let mut approved = self.draft(Kind::CatalogApproved);
        approved.server = "ledger".parse().ok();
        approved.server_digest = Some(digest("server"));
        approved.catalog.approved = Some(catalog().checkpoint());
        self.append(approved, None);
    }

    /// Goes on at another replica, which writes a log of its own.
    pub fn at(&mut self, log: &str) {
        let log = log_id(log);
        if *self.head.log_id() == log {
            return;
        }
        let known = self.others.remove(&log);
        let begins = known.is_none();
        let head = known.unwrap_or_else(|| Head::new(log));
        let left = std::mem::replace(&mut self.head, head);
        self.others.insert(left.log_id().clone(), left);
        if begins {
            self.begin();
        }
    }

    /// The heads of all logs.
    pub fn heads(&self) -> impl Iterator<Item = &Head> {
        std::iter::once(&self.head).chain(self.others.values())
    }

    /// The signed heads of all logs.
    pub fn notes(&self) -> Vec<String> {
        let sign = |head: &Head| Checkpoint::of(head).sign(&key_of(head.log_id(), 1));
        self.heads().map(sign).collect()
    }

    pub fn draft(&mut self, kind: Kind) -> Draft {
        self.clock += 1_001;
        Draft::new(kind, Time::from_micros(self.clock))
    }

    pub fn append(&mut self, mut draft: Draft, link: Option<Link>) -> Entry {
        if self.blind && link.is_none() {
            draft.withhold();
        }
        let entry = self.head.append(draft, link);
        self.entries.push(entry.clone());
        entry
    }

    /// Appends to an execution, which `row` names.
    fn on(&mut self, row: &str, mut draft: Draft) {
        let link = self.chains.get(row).copied();
        if link.is_none() {
            self.bindings
                .extend(draft.binding.map(|b| (row.to_owned(), b)));
            if self.blind {
                let random = digest(&format!("salt of {row}")).to_bytes();
                self.salts.insert(row.to_owned(), Salt::new(random));
            }
        }
        if let Some(salt) = self.salts.get(row) {
            draft.blind(salt);
        }
        let link = link.unwrap_or(Link {
            execution_seq: 0,
            execution_previous: None,
        });
        let entry = self.append(draft, Some(link));
        self.chains
            .insert(row.to_owned(), entry.next_link().unwrap());
    }

    fn attempt(&mut self, asked: Asked<'_>, kind: Kind) -> Draft {
        let mut draft = self.draft(kind);
        self.calls += 1;
        let message = asked.message();
        let component = native(&self.component);
        let Ok(Ok(Admitted::Call(call))) = component.admit(&message) else {
            panic!("no call")
        };
        let meaning = component.interpret(&call.action).unwrap().unwrap();
        let profile: ProfileId = PROFILE.parse().unwrap();
        self.requests
            .push((format!("call-{}", self.calls), message));
        draft.call_id = format!("call-{}", self.calls).parse().ok();
        draft.agent = Some(Agent {
            method: "token".into(),
            issuer: "ops".into(),
            subject: "zoë".into(),
        });
        draft.execution_id = call.execution_id.as_deref().and_then(|id| id.parse().ok());
        draft.execution_id_status = Some(if asked.id.is_some() {
            ExecutionIdStatus::Present
        } else {
            ExecutionIdStatus::Absent
        });
        draft.workflow_id = call.workflow_id.as_deref().and_then(|id| id.parse().ok());
        draft.revision = Some("2026-07-28".into());
        draft.client_digest = Some(preimage::client_context(&call.client));
        draft.server = "ledger".parse().ok();
        draft.server_digest = Some(digest("server"));
        draft.tool = Some(meaning.tool.clone());
        draft.profile = Some(PROFILE.into());
        draft.world = Some("countersign:admission@1.0.0".into());
        draft.component = Some(Digest::of(&[&self.component]));
        draft.binding = Some(meaning.binding);
        if let Some(round) = &call.continuation {
            draft.continuation = Some(preimage::continuation(
                &profile,
                &meaning.binding,
                &round.canonical,
            ));
            draft.request_state_presented =
                round.request_state.as_deref().map(preimage::request_state);
        }
        let agent = draft.agent.clone().unwrap();
        let decision = self.policies.decide(&countersign_policy::Request {
            agent: countersign_policy::Agent {
                method: &agent.method,
                issuer: &agent.issuer,
                subject: &agent.subject,
            },
            identity: countersign_policy::Identity::default(),
            tool: countersign_policy::Tool {
                server: "ledger",
                name: &meaning.tool,
                class: asked.class.parse().unwrap(),
            },
            view: &meaning.view,
            shape: None,
            execution_id: call.execution_id.as_deref(),
            workflow_id: call.workflow_id.as_deref(),
            client: &call.client,
            continuation: call
                .continuation
                .as_ref()
                .map(|round| round.canonical.as_slice()),
            revision: "2026-07-28",
        });
        draft.decision = Some(Decision {
            allow: decision.allow(),
            determining: decision
                .determining()
                .iter()
                .map(|id| id.as_str().to_owned())
                .collect(),
            reason: decision.reason().as_str().into(),
        });
        draft.policy_inputs = Some(PolicyInputs {
            class: asked.class.into(),
            audience: None,
            proof_key: None,
        });
        draft.evaluator = Some(PolicySet::evaluator().into());
        draft.policy_digest = Some(self.policies.digest());
        let checkpoint = Some(catalog().checkpoint());
        draft.catalog.discovered = checkpoint;
        draft.catalog.approved = checkpoint;
        draft.catalog.attributed = checkpoint;
        draft
    }

    /// The salt of a row, and what opens every blinded one.
    pub fn salt(&self, row: &str) -> Salt {
        self.salts[row]
    }

    pub fn openings(&self) -> Vec<Opening> {
        let opening = |entry: &Entry| {
            let said = entry.said();
            let id = said.execution_id.as_ref().map(ToString::to_string);
            let row = id.or_else(|| said.call_id.as_ref().map(ToString::to_string))?;
            let reserves = said.kind == Kind::Admission;
            let salt = self.salts.get(&row).filter(|_| reserves)?;
            Opening::of(said, self.bindings[&row], *salt)
        };
        self.entries.iter().filter_map(opening).collect()
    }

    /// An attempt that is permitted.
    pub fn admit(&mut self, asked: Asked<'_>, class: Classification) {
        let round = class == Classification::Continuation;
        let mut draft = self.attempt(asked, if round { Kind::Round } else { Kind::Admission });
        draft.classification = asked.id.map(|_| class.into());
        draft.effect_boundary = Some(EffectBoundary::PreTransport);
        draft.fence = Some(1 + u64::from(round));
        draft.incarnation = Some("1".into());
        if round {
            draft.round = Some(Round {
                says: RoundSays::Claimed,
                number: 1,
            });
        }
        let row = asked
            .id
            .map_or_else(|| format!("call-{}", self.calls), str::to_owned);
        self.on(&row, draft);
    }

    /// An attempt that meets a record and is refused for what it is.
    pub fn refuse(&mut self, asked: Asked<'_>, class: Classification) {
        let mut draft = self.attempt(asked, Kind::Refusal);
        draft.decision = None;
        draft.policy_inputs = None;
        draft.evaluator = None;
        draft.classification = Some(class.into());
        draft.refusal = draft.classification.unwrap().as_str().parse().ok();
        self.on(asked.id.unwrap(), draft);
    }

    /// An attempt that the recorded profile does not admit.
    pub fn refuse_inadmissible(&mut self, asked: Asked<'_>) {
        let mut draft = self.attempt(asked, Kind::Refusal);
        draft.decision = None;
        draft.binding = None;
        draft.continuation = None;
        draft.classification = Some(Classified::NotAdmissible);
        draft.refusal = "collision".parse().ok();
        self.on(asked.id.unwrap(), draft);
    }

    /// An attempt that policy denies.
    pub fn deny(&mut self, asked: Asked<'_>) {
        let mut draft = self.attempt(asked, Kind::Refusal);
        draft.classification = Some(Classification::Fresh.into());
        draft.refusal = "policy-denied".parse().ok();
        assert!(!draft.decision.as_ref().unwrap().allow);
        self.append(draft, None);
    }

    /// An entry that repeats who and what of the last one on a row.
    fn about(&mut self, row: &str, kind: Kind) -> Draft {
        let of = |entry: &&Entry| {
            let said = entry.said();
            let id = said
                .execution_id
                .as_ref()
                .map(countersign_evidence::ExecutionId::as_str);
            let call = said
                .call_id
                .as_ref()
                .map(countersign_evidence::CallId::as_str);
            said.kind == Kind::Admission && (id == Some(row) || call == Some(row))
        };
        let admission = self.entries.iter().find(of).unwrap().said().clone();
        let mut draft = self.draft(kind);
        draft.call_id = admission.call_id;
        draft.agent = admission.agent;
        draft.execution_id = admission.execution_id;
        draft.execution_id_status = admission.execution_id_status;
        draft.server = admission.server;
        draft.server_digest = admission.server_digest;
        draft.tool = admission.tool;
        draft.profile = admission.profile;
        draft.component = admission.component;
        draft.binding = self.bindings.get(row).copied();
        draft.fence = Some(2);
        draft.incarnation = Some("1".into());
        draft
    }

    pub fn settle(&mut self, row: &str, outcome: Outcome) {
        let mut draft = self.about(row, Kind::Terminal);
        draft.outcome = Some(outcome);
        draft.effect_boundary = Some(EffectBoundary::PreTransport);
        if outcome != Outcome::NotAttempted {
            draft.effect_boundary = Some(EffectBoundary::ResponseReceived);
            draft.answer_digest = Some(digest("answer"));
            draft.answer_bytes = Some(6);
        }
        self.on(row, draft);
    }

    pub fn block(&mut self, row: &str) {
        let mut draft = self.about(row, Kind::Blocked);
        draft.refusal = "owner-lost".parse().ok();
        self.on(row, draft);
    }
}
