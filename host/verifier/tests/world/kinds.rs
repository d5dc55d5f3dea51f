//! Entries that are no attempt of a caller, and the worlds that hold them all.

use countersign_canon::{Classification, Difference, Outcome, preimage};
use countersign_evidence::{
    Agent, EffectBoundary, ExecutionIdStatus, Kind, Resolution, Round, RoundSays, Suppressed, Task,
    Time,
};

use super::{Asked, COMPONENT, World, digest, key};

impl World {
    pub fn ask(&mut self, row: &str, state: &str) {
        let mut draft = self.about(row, Kind::Round);
        draft.round = Some(Round {
            says: RoundSays::Asked,
            number: 1,
        });
        draft.request_state_issued = Some(preimage::request_state(state));
        self.on(row, draft);
    }

    pub fn late(&mut self, row: &str) {
        let mut draft = self.about(row, Kind::LateAnswer);
        draft.outcome = Some(Outcome::Succeeded);
        draft.answer_digest = Some(digest("late"));
        draft.answer_bytes = Some(4);
        self.on(row, draft);
    }

    pub fn resolve(&mut self, row: &str, outcome: Outcome) {
        self.resolve_at(row, outcome, None);
    }

    /// The same, where the request is known to have come so far.
    pub fn resolve_at(&mut self, row: &str, outcome: Outcome, boundary: Option<EffectBoundary>) {
        let mut draft = self.about(row, Kind::Resolution);
        draft.outcome = Some(outcome);
        draft.effect_boundary = boundary.or(draft.effect_boundary);
        draft.resolution = Some(Resolution {
            operator: "ops".into(),
            reason: "seen at the bänk".into(),
            evidence: Some(digest("statement")),
        });
        self.on(row, draft);
    }

    pub fn task(&mut self, row: &str) {
        let mut draft = self.about(row, Kind::Task);
        draft.task = Some(Task {
            id: digest("task"),
            status: "working".into(),
        });
        self.on(row, draft);
    }

    pub fn malformed(&mut self) {
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

    /// One of everything.
    pub fn full() -> Self {
        Self::full_of(COMPONENT)
    }

    /// One of everything, by a gateway that loaded this component.
    pub fn full_of(component: &[u8]) -> Self {
        Self::of(component).filled(true)
    }

    /// One of everything that has a row, blinded.
    pub fn blinded() -> Self {
        let mut world = Self::new();
        world.blind = true;
        world.filled(false)
    }

    /// With one of everything; a denial, which has no row, only where `denied`.
    pub fn filled(self, denied: bool) -> Self {
        let mut world = self;
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
        if denied {
            world.deny(Asked {
                tool: "wipe",
                class: "destructive",
                ..Asked::transfer("e-2", "1")
            });
        }
        world.admit(
            Asked {
                id: None,
                tool: "balance",
                class: "read-only",
                ..first
            },
            Classification::Fresh,
        );
        world.settle(&format!("call-{}", world.calls), Outcome::ToolError);
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

    /// One entry of every kind: also of those after which something cannot be
    /// established any more.
    pub fn every_kind() -> Self {
        let mut world = Self::full();
        let mut discovery = world.draft(Kind::Discovery);
        discovery.server = "ledger".parse().ok();
        discovery.server_digest = Some(digest("server"));
        discovery.tool = Some("transfér".into());
        discovery.catalog.discovered = Some(digest("transfér, changed"));
        world.append(discovery.clone(), None);
        let mut drift = discovery;
        drift.kind = Kind::CatalogDrift;
        drift.catalog.approved = Some(digest("transfér"));
        world.append(drift, None);
        let mut fault = world.draft(Kind::ProfileFault);
        fault.profile = Some(super::PROFILE.into());
        fault.refusal = "profile-fault".parse().ok();
        world.append(fault, None);
        let mut alias = world.draft(Kind::Alias);
        let agent = |subject: &str| Agent {
            method: "token".into(),
            issuer: "ops".into(),
            subject: subject.into(),
        };
        alias.agent = Some(agent("zoë at work"));
        alias.agent_before = Some(agent("zoë"));
        world.append(alias, None);
        let mut rollback = world.draft(Kind::Rollback);
        rollback.resolution = Some(Resolution {
            operator: "ops".into(),
            reason: "die Sicherung von gestern, 工具".into(),
            evidence: None,
        });
        world.append(rollback, None);
        let mut rotated = world.draft(Kind::KeyRotated);
        rotated.key = Some(key(1).rotate(&key(2).verifying_key()));
        world.append(rotated, None);
        world
    }

    /// Three replicas of one fleet, with executions that move between them.
    pub fn fleet() -> Self {
        let mut world = Self::new();
        let (one, two, three) = ("log.example/1", "log.example/2", "log.example/3");
        let first = Asked::transfer("f-1", "5");
        world.admit(first, Classification::Fresh);
        world.at(two);
        world.refuse(first, Classification::InFlight);
        world.at(one);
        world.settle("f-1", Outcome::Succeeded);
        world.at(three);
        world.refuse(first, Classification::Replay(Outcome::Succeeded));
        let binding = Difference {
            binding: true,
            target: false,
        };
        world.refuse(
            Asked::transfer("f-1", "5.0"),
            Classification::Collision(binding),
        );
        // Its replica is gone, and another one finds that out.
        let lost = Asked::transfer("f-2", "8");
        world.admit(lost, Classification::Fresh);
        world.at(two);
        world.block("f-2");
        world.refuse(lost, Classification::Blocked);
        world.at(three);
        world.late("f-2");
        world.at(two);
        world.resolve("f-2", Outcome::Succeeded);
        // Asked at one, answered at another.
        let round = Asked::transfer("f-3", "7");
        world.admit(round, Classification::Fresh);
        world.ask("f-3", "s-1");
        world.at(one);
        let answers = Asked {
            state: Some("s-1"),
            ..round
        };
        world.admit(answers, Classification::Continuation);
        world.settle("f-3", Outcome::Succeeded);
        world
    }
}
