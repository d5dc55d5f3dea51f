//! A row for the stores' own tests, and what a write to it must find.

use countersign_canon::Digest;
use countersign_evidence::{Agent, CallId, ExecutionId, Salt, Target};

use super::{Row, Was};
use crate::attempt::{Admitted, Epochs, Position};
use crate::execution::{Context, Execution};
use crate::identity::{Fence, Incarnation};
use crate::step::{Event, Owner, step};

/// A row as its reservation leaves it.
pub(crate) fn row() -> Row {
    let digest = Digest::of(&[b"x"]);
    let event = Event::Reserve {
        identified: true,
        by: Incarnation::new(1),
    };
    let execution = Execution {
        agent: Agent {
            method: "token".into(),
            issuer: String::new(),
            subject: "alice".into(),
        },
        execution_id: Some(ExecutionId::new("pay").unwrap()),
        call_id: CallId::new("c1").unwrap(),
        admitted: Admitted {
            profile: "exact@1.0.0".into(),
            component: digest,
            binding: digest,
            target: Target {
                server: "bank".parse().unwrap(),
                server_digest: digest,
                tool: "transfer".into(),
            },
        },
        context: Context::default(),
        salt: None,
        record: step(None, &event).unwrap().0,
        chain_length: 1,
        last: Position {
            log_id: "log.example/1".parse().unwrap(),
            sequence: 0,
            hash: digest,
        },
        terminal: None,
        reserved_us: 0,
        changed_us: 0,
    };
    Row {
        number: 1,
        execution,
    }
}

/// A row in which no two columns hold the same.
pub(crate) fn distinct() -> Row {
    let digest = |name: &str| Digest::of(&[name.as_bytes()]);
    let mut row = row();
    let execution = &mut row.execution;
    execution.agent.issuer = "ops".into();
    execution.admitted.component = digest("component");
    execution.admitted.binding = digest("binding");
    execution.admitted.target.server_digest = digest("server");
    execution.context = Context {
        client_digest: Some(digest("client")),
        workflow_id: "workflow".parse().ok(),
        represented_user: Some("bob".into()),
        authority: Some("delegation".into()),
        policy_digest: Some(digest("policies")),
        catalog: Some(digest("catalog")),
        epochs: Epochs {
            policy: 11,
            catalog: 12,
        },
    };
    execution.record.owner = Incarnation::new(2);
    execution.record.fence = Fence::FIRST.next();
    execution.record.claimed = vec![digest("round"), digest("round after")];
    execution.record.issued = Some(digest("state"));
    execution.record.task = "task".parse().ok();
    execution.salt = Some(Salt::new([7; 32]));
    execution.chain_length = 21;
    execution.last.sequence = 22;
    execution.last.hash = digest("last");
    execution.terminal = Some(Position {
        log_id: execution.last.log_id.clone(),
        sequence: 23,
        hash: digest("terminal"),
    });
    execution.reserved_us = 31;
    execution.changed_us = 32;
    row
}

/// What stands in it.
pub(crate) fn was() -> Was {
    Was {
        owner: Owner {
            incarnation: Incarnation::new(1),
            fence: Fence::FIRST,
        },
        chain_length: 1,
    }
}

/// What does not: another owner, another fence, another length of the chain.
pub(crate) fn others() -> [Was; 3] {
    let (mut owner, mut fence, mut length) = (was(), was(), was());
    owner.owner.incarnation = Incarnation::new(2);
    fence.owner.fence = Fence::FIRST.next();
    length.chain_length = 2;
    [owner, fence, length]
}
