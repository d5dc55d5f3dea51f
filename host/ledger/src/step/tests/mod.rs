//! The state machine, over every pair of state and event.
//!
//! Here are the records and events that its tests go through.

mod legal;
mod rules;

use countersign_canon::{Digest, Outcome};
use countersign_evidence::EffectBoundary;

use super::*;
use crate::identity::TaskId;
use crate::record::OUTCOMES;

const ME: Incarnation = Incarnation::new(7);
const OTHER: Incarnation = Incarnation::new(6);

fn digest(text: &str) -> Digest {
    Digest::of(&[text.as_bytes()])
}

fn by(record: &Record) -> Owner {
    Owner {
        incarnation: record.owner,
        fence: record.fence,
    }
}

fn reserved(identified: bool) -> Record {
    step(None, &Event::Reserve { identified, by: ME })
        .unwrap()
        .0
}

fn after(record: &Record, event: &Event) -> Record {
    step(Some(record), event).unwrap().0
}

fn asked(record: &Record) -> Record {
    after(
        record,
        &Event::Asked {
            by: by(record),
            issued: Some(digest("state")),
        },
    )
}

/// One record of each state that can be reached, with and without identifier,
/// in the first round and in a later one.
fn records() -> Vec<Record> {
    let first = reserved(true);
    let awaiting = asked(&first);
    let claim = Event::Claim {
        by: ME,
        continuation: digest("c1"),
    };
    let second = after(&awaiting, &claim);
    let alone = reserved(false);
    let mut all = Vec::new();
    for record in [first, second, alone] {
        let by = by(&record);
        let task: TaskId = "task".parse().unwrap();
        for event in [
            Event::NotSent { by },
            Event::Unanswered {
                by,
                received: false,
            },
            Event::Answered {
                by,
                with: Answered::Succeeded,
            },
            Event::Asked { by, issued: None },
            Event::TaskOpened { by, task },
            Event::OwnerLost { lost: by },
        ] {
            all.push(after(&record, &event));
        }
        all.push(record);
    }
    all
}

/// Every event, spoken by the record's own owner.
fn events(record: Option<&Record>) -> Vec<Event> {
    let by = record.map_or(
        Owner {
            incarnation: ME,
            fence: Fence::FIRST,
        },
        by,
    );
    let mut events = vec![
        Event::Reserve {
            identified: true,
            by: ME,
        },
        Event::Reserve {
            identified: false,
            by: ME,
        },
        Event::NotSent { by },
        Event::Unanswered {
            by,
            received: false,
        },
        Event::Unanswered { by, received: true },
        Event::Asked { by, issued: None },
        Event::Asked {
            by,
            issued: Some(digest("state")),
        },
        Event::TaskOpened {
            by,
            task: "task".parse().unwrap(),
        },
        Event::OwnerLost { lost: by },
        Event::Claim {
            by: ME,
            continuation: digest("new"),
        },
        Event::Abandon,
        Event::TaskObserved,
        Event::Refuse,
    ];
    for with in [
        Answered::Succeeded,
        Answered::ToolError,
        Answered::UpstreamError,
    ] {
        events.push(Event::Answered { by, with });
        events.push(Event::LateAnswer { by, with });
    }
    for outcome in OUTCOMES {
        events.push(Event::TaskEnded { outcome });
        for owner_dead in [false, true] {
            events.push(Event::Resolve {
                outcome,
                owner_dead,
            });
        }
    }
    events
}
