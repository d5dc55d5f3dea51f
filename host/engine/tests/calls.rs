//! What a component may do to a request, and that it can do it to no other.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking, in what they share too"
)]

mod common;

use common::{ACTION, MESSAGE, REFUSED, Stub, engine};
use countersign_canon::{
    Admitted, Classification, Code, Outcome, Presented, Recorded, RecordedState,
};
use countersign_engine::{FaultKind, Profile, Rule};

/// Misbehaves on messages of `len` bytes, so that it passes its own vectors.
fn on_length(len: usize, body: &str) -> &'static str {
    format!(
        "(if (i32.eq (local.get 1) (i32.const {len})) (then {body}))
         (select (i32.const $call) (i32.const $refusal) (i32.gt_u (local.get 1) (i32.const 1)))"
    )
    .leak()
}

fn load(stub: &Stub) -> Profile {
    engine().load(&stub.component(), Some(&stub.pin())).unwrap()
}

#[test]
fn a_message_is_admitted_interpreted_and_refused() {
    let profile = load(&Stub::default());
    let Ok(Admitted::Call(call)) = profile.admit(MESSAGE).unwrap() else {
        panic!()
    };
    assert_eq!(call.action, ACTION);
    let meaning = profile.interpret(&call.action).unwrap().unwrap();
    assert_eq!(meaning.tool, "t");
    assert_eq!(meaning.view.get("/name").unwrap().pointer(), "/name");
    let refusal = profile.admit(REFUSED).unwrap().unwrap_err();
    assert_eq!((refusal.code, refusal.offset), (Code::Syntax, 1));
}

#[test]
fn misbehaviour_is_a_fault_of_its_kind_and_of_that_request_alone() {
    let grow = "(loop (br_if 0 (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) (unreachable)";
    let touch = "(i32.store (i32.const 0x7fffffff) (i32.const 1))";
    let cases = [
        (
            "an unreachable instruction",
            "(unreachable)",
            FaultKind::Trap,
        ),
        (
            "a loop without an end",
            "(loop (br 0))",
            FaultKind::OutOfFuel,
        ),
        ("memory without an end", grow, FaultKind::Trap),
        ("an access out of bounds", touch, FaultKind::Trap),
        (
            "a division by zero",
            "(drop (i32.div_u (i32.const 1) (i32.const 0)))",
            FaultKind::Trap,
        ),
        (
            "recursion without an end",
            "(call $deep)",
            FaultKind::StackOverflow,
        ),
        (
            "an answer out of bounds",
            "(return (i32.const 0x7ffffff0))",
            FaultKind::UnreadableAnswer,
        ),
        (
            "an answer of no variant",
            "(return (i32.const 1024))",
            FaultKind::UnreadableAnswer,
        ),
    ];
    for (name, body, kind) in cases {
        let stub = Stub {
            admit: Some(on_length(5, body)),
            fields: "(func $deep (call $deep))",
            ..Stub::default()
        };
        let profile = load(&stub);
        let fault = profile.admit(b"12345").map(|_| ()).expect_err(name);
        assert_eq!(fault.kind(), kind, "{name}");
        assert!(
            profile.admit(MESSAGE).unwrap().is_ok(),
            "{name}: the next request"
        );
    }
}

#[test]
fn what_one_request_leaves_behind_no_other_sees() {
    // Sets a flag in its memory, and traps if the flag is set already.
    let body = "(if (i32.load (i32.const 16)) (then (unreachable))) (i32.store (i32.const 16) (i32.const 1))";
    let stub = Stub {
        admit: Some(on_length(5, body)),
        ..Stub::default()
    };
    let profile = load(&stub);
    for _ in 0..50 {
        assert!(profile.admit(b"12345").is_ok());
    }
}

#[test]
fn more_requests_than_slots_wait_for_each_other() {
    let profile = load(&Stub::default());
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert!(profile.admit(MESSAGE).unwrap().is_ok());
                }
            });
        }
    });
}

#[test]
fn answers_that_the_contract_does_not_allow_are_faults() {
    let engine = engine();
    let admit_only = |stub: &Stub| {
        let error = engine.load(&stub.component(), None).unwrap_err();
        let countersign_engine::Problem::Fault(fault) = error.problem() else {
            panic!("{error}")
        };
        fault.kind()
    };
    let rule = FaultKind::Malformed;
    for (name, stub, kind) in [
        (
            "a space in an execution id",
            Stub {
                execution_id: Some("a b"),
                ..Stub::default()
            },
            rule(Rule::Correlation),
        ),
        (
            "an empty execution id",
            Stub {
                execution_id: Some(""),
                ..Stub::default()
            },
            rule(Rule::Correlation),
        ),
        (
            "an id of 2^53",
            Stub {
                id_number: 1 << 53,
                ..Stub::default()
            },
            rule(Rule::Id),
        ),
        (
            "a refusal beyond the message",
            Stub {
                refusal_offset: 2,
                ..Stub::default()
            },
            rule(Rule::Refusal),
        ),
        (
            "a view of another tool",
            Stub {
                tool: ["t", "u"],
                ..Stub::default()
            },
            rule(Rule::View),
        ),
        (
            "a view that is no tree",
            Stub {
                members: 3,
                ..Stub::default()
            },
            rule(Rule::View),
        ),
        (
            "a view with two roots",
            Stub {
                members: 1,
                ..Stub::default()
            },
            rule(Rule::View),
        ),
    ] {
        assert_eq!(admit_only(&stub), kind, "{name}");
    }
}

#[test]
fn a_binding_is_computed_again() {
    let stub = Stub {
        binding: Some(format!("sha256:{}", "0".repeat(64))),
        ..Stub::default()
    };
    let error = engine().load(&stub.component(), None).unwrap_err();
    let countersign_engine::Problem::Fault(fault) = error.problem() else {
        panic!("{error}")
    };
    assert_eq!(fault.kind(), FaultKind::BindingDisagrees);
}

#[test]
fn a_verdict_other_than_the_tables_is_a_fault() {
    let presented = Presented {
        profile: "stub@1.0.0",
        binding: "b",
        target: "s@d/t",
        round: None,
    };
    let recorded = Recorded {
        profile: "stub@1.0.0",
        binding: "b",
        target: "s@d/t",
        state: RecordedState::Settled(Outcome::Succeeded),
        claimed: &[],
    };
    let profile = load(&Stub::default());
    assert_eq!(
        profile.classify(&presented, None).unwrap(),
        Classification::Fresh
    );
    let fault = profile.classify(&presented, Some(&recorded)).unwrap_err();
    assert_eq!(fault.kind(), FaultKind::ClassificationDisagrees);
}

#[test]
fn a_message_beyond_the_limit_costs_no_more_than_the_limit() {
    // The stub traps on what is longer than one byte beyond its limit.
    let body = "(if (i32.gt_u (local.get 1) (i32.const 101)) (then (unreachable)))
                (select (i32.const $call) (i32.const $refusal) (i32.gt_u (local.get 1) (i32.const 1)))";
    let stub = Stub {
        limits: [100, 64, 1_024, 262_144],
        admit: Some(body),
        ..Stub::default()
    };
    let profile = load(&stub);
    assert!(profile.admit(&[b'x'; 5_000]).is_ok());
}
