//! A small honest gateway: it writes the entries that a real one writes, for
//! calls of every sort, and exports them. Tests then lie about them.

#![allow(dead_code, reason = "each test uses its part")]

use std::collections::HashMap;
use std::io::Cursor;

use countersign_canon::{
    Admitted, Classification, Difference, Digest, Numbers, Outcome, ProfileId, preimage,
};
use countersign_evidence::bundle::{Filter, LogExtent, Manifest, Proof, Writer};
use countersign_evidence::checkpoint::Checkpoint;
use countersign_evidence::key::SigningKey;
use countersign_evidence::proof::Collector;
use countersign_evidence::{
    Agent, Classified, Decision, Draft, EffectBoundary, Entry, ExecutionIdStatus, Head, Kind, Link,
    LogId, PolicyInputs, Receipt, Resolution, Round, RoundSays, Suppressed, Task, Time,
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
    SigningKey::from_seed(log_id("log.example/1"), &[seed; 32])
}

pub fn log_id(text: &str) -> LogId {
    LogId::new(text).unwrap()
}

pub struct World {
    pub head: Head,
    pub entries: Vec<Entry>,
    pub requests: Vec<(String, Vec<u8>)>,
    component: Vec<u8>,
    policies: PolicySet,
    chains: HashMap<String, Link>,
    clock: i64,
    calls: u32,
}

/// One call, as its sender and the operator see it.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub id: Option<&'a str>,
    pub tool: &'a str,
    pub class: &'a str,
    pub amount: &'a str,
    pub state: Option<&'a str>,
}

impl<'a> Asked<'a> {
    pub fn transfer(id: &'a str, amount: &'a str) -> Self {
        Self {
            id: Some(id),
            tool: "transfér",
            class: "side-effecting",
            amount,
            state: None,
        }
    }

    fn message(&self) -> Vec<u8> {
        let id = self
            .id
            .map(|id| format!(r#""countersign.dev/execution_id":"{id}","#))
            .unwrap_or_default();
        let round = self
            .state
            .map(|state| format!(r#","inputResponses":{{"a":"ja"}},"requestState":"{state}""#));
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{}","arguments":{{"amount":{},"to":"zoë"}},"_meta":{{{id}"countersign.dev/workflow_id":"w-1","io.modelcontextprotocol/clientInfo":{{"name":"x"}}}}{}}}}}"#,
            self.tool,
            self.amount,
            round.unwrap_or_default(),
        )
        .into_bytes()
    }
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
            entries: Vec::new(),
            requests: Vec::new(),
            policies: PolicySet::load(Bundle::shipped()).unwrap(),
            chains: HashMap::new(),
            clock: 1_767_323_045_000_006,
            calls: 0,
        };
        let mut start = world.draft(Kind::Start);
        start.incarnation = Some("1".into());
        world.append(start, None);
        let mut profile = world.draft(Kind::ProfileLoaded);
        profile.profile = Some(PROFILE.into());
        profile.component = Some(Digest::of(&[component]));
        profile.world = Some("countersign:admission@1.0.0".into());
        world.append(profile, None);
        let mut policies = world.draft(Kind::PolicyLoaded);
        policies.policy_digest = Some(world.policies.digest());
        policies.evaluator = Some(PolicySet::evaluator().into());
        world.append(policies, None);
        for tool in ["transfér", "balance"] {
            let mut approved = world.draft(Kind::CatalogApproved);
            approved.server = "ledger".parse().ok();
            approved.server_digest = Some(digest("server"));
            approved.tool = Some(tool.into());
            approved.catalog.approved = Some(digest(tool));
            world.append(approved, None);
        }
        world
    }

    /// One of everything.
    pub fn full() -> Self {
        Self::full_of(COMPONENT)
    }

    /// One of everything, by a gateway that loaded this component.
    pub fn full_of(component: &[u8]) -> Self {
        let mut world = Self::of(component);
        // A call, its retry, and a mutated retry.
        let first = Asked::transfer("e-1", "5");
        world.admit(first, Classification::Fresh);
        world.settle("e-1", Outcome::Succeeded);
        world.refuse(first, Classification::Replay(Outcome::Succeeded));
        let binding = Difference {
            binding: true,
            target: false,
        };
        world.refuse(
            Asked::transfer("e-1", "5.0"),
            Classification::Collision(binding),
        );
        // A denial, and a call without an identifier.
        world.deny(Asked {
            tool: "wipe",
            class: "destructive",
            ..Asked::transfer("e-2", "1")
        });
        world.admit(
            Asked {
                id: None,
                tool: "balance",
                class: "read-only",
                ..first
            },
            Classification::Fresh,
        );
        world.settle("call-5", Outcome::ToolError);
        // Two rounds.
        let round = Asked::transfer("e-3", "7");
        world.admit(round, Classification::Fresh);
        world.refuse(round, Classification::InFlight);
        world.ask("e-3", "s-1");
        world.refuse(
            Asked {
                state: Some("s-9"),
                ..round
            },
            Classification::ContinuationMismatch,
        );
        world.admit(
            Asked {
                state: Some("s-1"),
                ..round
            },
            Classification::Continuation,
        );
        world.refuse(
            Asked {
                state: Some("s-1"),
                ..round
            },
            Classification::RoundReplay,
        );
        world.settle("e-3", Outcome::UpstreamError);
        // A crash, an answer that came late, and an operator.
        let lost = Asked::transfer("e-4", "8");
        world.admit(lost, Classification::Fresh);
        world.block("e-4");
        world.refuse(lost, Classification::Blocked);
        world.late("e-4");
        world.resolve("e-4", Outcome::Succeeded);
        world.resolve("e-4", Outcome::OutcomeUnknown);
        // A task.
        world.admit(Asked::transfer("e-5", "9"), Classification::Fresh);
        world.task("e-5");
        world.settle("e-5", Outcome::Succeeded);
        // Nothing left; and one that is still open.
        world.admit(Asked::transfer("e-6", "10"), Classification::Fresh);
        world.settle("e-6", Outcome::NotAttempted);
        world.admit(Asked::transfer("e-7", "11"), Classification::Fresh);
        world.malformed();
        world
    }

    pub fn draft(&mut self, kind: Kind) -> Draft {
        self.clock += 1_001;
        Draft::new(kind, Time::from_micros(self.clock))
    }

    pub fn append(&mut self, draft: Draft, link: Option<Link>) -> Entry {
        let entry = self.head.append(draft, link);
        self.entries.push(entry.clone());
        entry
    }

    /// Appends to an execution, which `row` names.
    fn on(&mut self, row: &str, draft: Draft) {
        let link = self.chains.get(row).copied();
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
        draft.catalog.attributed = Some(digest(&meaning.tool));
        draft
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
        draft.binding = admission.binding;
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

    fn ask(&mut self, row: &str, state: &str) {
        let mut draft = self.about(row, Kind::Round);
        draft.round = Some(Round {
            says: RoundSays::Asked,
            number: 1,
        });
        draft.request_state_issued = Some(preimage::request_state(state));
        self.on(row, draft);
    }

    pub fn block(&mut self, row: &str) {
        let mut draft = self.about(row, Kind::Blocked);
        draft.refusal = "owner-lost".parse().ok();
        self.on(row, draft);
    }

    fn late(&mut self, row: &str) {
        let mut draft = self.about(row, Kind::LateAnswer);
        draft.outcome = Some(Outcome::Succeeded);
        draft.answer_digest = Some(digest("late"));
        draft.answer_bytes = Some(4);
        self.on(row, draft);
    }

    fn resolve(&mut self, row: &str, outcome: Outcome) {
        let mut draft = self.about(row, Kind::Resolution);
        draft.outcome = Some(outcome);
        draft.resolution = Some(Resolution {
            operator: "ops".into(),
            reason: "seen at the bänk".into(),
            evidence: Some(digest("statement")),
        });
        self.on(row, draft);
    }

    fn task(&mut self, row: &str) {
        let mut draft = self.about(row, Kind::Task);
        draft.task = Some(Task {
            id: digest("task"),
            status: "working".into(),
        });
        self.on(row, draft);
    }

    fn malformed(&mut self) {
        let mut draft = self.draft(Kind::Refusal);
        draft.call_id = "call-x".parse().ok();
        draft.agent = Some(Agent {
            method: "token".into(),
            issuer: "ops".into(),
            subject: "x".into(),
        });
        draft.execution_id_status = Some(ExecutionIdStatus::Unread);
        draft.refusal = "syntax".parse().ok();
        self.append(draft, None);
        let mut draft = self.draft(Kind::Suppressed);
        draft.refusal = "rate-limited".parse().ok();
        let time = Time::from_micros(self.clock);
        draft.suppressed = Some(Suppressed {
            count: 3,
            from: time,
            to: time,
        });
        self.append(draft, None);
    }

    pub fn export(&self) -> Vec<u8> {
        let lines: Vec<Vec<u8>> = self
            .entries
            .iter()
            .map(|entry| entry.bytes().to_vec())
            .collect();
        Export {
            lines,
            ..Export::of(self)
        }
        .bundle()
    }

    pub fn inputs(&self) -> Inputs {
        let mut inputs = Inputs {
            trusted: vec![key(1).verifying_key()],
            ..Inputs::default()
        };
        inputs.components.approve(native(&self.component));
        inputs.approve_policies(PolicySet::load(Bundle::shipped()).unwrap());
        inputs.requests = self
            .requests
            .iter()
            .map(|(name, message)| RequestFile {
                name: name.clone(),
                message: message.clone(),
            })
            .collect();
        inputs
    }

    pub fn receipts(&self) -> Vec<Receipt> {
        let terminal = |entry: &&Entry| entry.said().kind == Kind::Terminal;
        self.entries
            .iter()
            .filter(terminal)
            .filter_map(Receipt::of)
            .collect()
    }

    /// The inclusion proofs of the entries with these bytes.
    pub fn proofs(&self, lines: &[Vec<u8>]) -> Vec<Proof> {
        let chosen: Vec<&Entry> = self
            .entries
            .iter()
            .filter(|entry| lines.iter().any(|line| line == entry.bytes()))
            .collect();
        let mut collector = Collector::new(self.head.size());
        chosen
            .iter()
            .for_each(|entry| collector.want_inclusion(entry.sequence()));
        self.entries
            .iter()
            .for_each(|entry| collector.leaf(entry.hash().to_bytes()));
        let proof = |entry: &&Entry| Proof {
            log_id: self.head.log_id().clone(),
            sequence: entry.sequence(),
            size: self.head.size(),
            path: collector.inclusion(entry.sequence()).unwrap(),
        };
        chosen.iter().map(proof).collect()
    }

    pub fn check(&self, bundle: &[u8]) -> Report {
        verify(Cursor::new(bundle), &self.inputs()).unwrap()
    }
}

/// A bundle to be written, each part of which can be forged.
#[derive(Clone)]
pub struct Export {
    pub log_id: LogId,
    pub size: u64,
    pub lines: Vec<Vec<u8>>,
    pub notes: Vec<String>,
    pub component: Vec<u8>,
    pub policies: Vec<(String, Vec<u8>)>,
    pub policy_digest: Digest,
    pub filter: Option<Filter>,
    pub proofs: Vec<Proof>,
}

impl Export {
    pub fn of(world: &World) -> Self {
        let files = world.policies.files();
        Self {
            log_id: world.head.log_id().clone(),
            size: world.head.size(),
            lines: world
                .entries
                .iter()
                .map(|entry| entry.bytes().to_vec())
                .collect(),
            notes: vec![Checkpoint::of(&world.head).sign(&key(1))],
            component: world.component.clone(),
            policies: files
                .iter()
                .map(|f| (f.name.to_string(), f.text.as_bytes().to_vec()))
                .collect(),
            policy_digest: world.policies.digest(),
            filter: None,
            proofs: Vec::new(),
        }
    }

    pub fn bundle(&self) -> Vec<u8> {
        let manifest = Manifest {
            exported: None,
            logs: vec![LogExtent {
                log_id: self.log_id.clone(),
                size: self.size,
                key: Some(key(1).verifying_key().to_string()),
            }],
            filter: self.filter.clone(),
        };
        let mut writer = Writer::new(Vec::new(), &manifest).unwrap();
        for line in &self.lines {
            writer.raw_entry(line).unwrap();
        }
        for proof in &self.proofs {
            writer.proof(proof).unwrap();
        }
        for note in &self.notes {
            writer.checkpoint(note).unwrap();
        }
        writer
            .profile(&PROFILE.parse().unwrap(), &self.component)
            .unwrap();
        for (path, content) in &self.policies {
            writer.policy(self.policy_digest, path, content).unwrap();
        }
        writer.finish().unwrap()
    }
}
