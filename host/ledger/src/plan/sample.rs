//! A row for the stores' own tests, and what a write to it must find.

use countersign_canon::Digest;
use countersign_evidence::{Agent, CallId, ExecutionId, Target};

use super::{Row, Was};
use crate::attempt::{Admitted, Position};
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
