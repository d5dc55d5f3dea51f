//! One admitted call, stage by stage, each in a function of its own that
//! `cargo xtask bench budget` has callgrind count.
//!
//! Time stands still, nothing is random, and one request is in each commit, so
//! that two runs do the same.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use countersign_canon::{Admitted, Classification};
use countersign_catalog::Shape;
use countersign_engine::{CacheSettings, Engine, Interpreted, Profile, Settings, embedded};
use countersign_ledger::{Clock, Reserved, Verdict};
use countersign_policy::{Agent, Bundle, Class, Identity, PolicySet, Request, Tool, Typed};
use countersign_tests::{Call, Client, Revision};

use crate::gateway::rules;
use crate::ledger::{answered, attempt, open_with};

const CLIENT: &[u8] =
    br#"{"io.modelcontextprotocol/clientInfo":{"name":"countersign-tests","version":"1"}}"#;

/// Carries out so many calls, one stage after another; keeps compiled code in
/// `folder`.
pub(crate) fn run(folder: &Path, rounds: u32) {
    let profile = profile(folder);
    let message = message();
    let (policies, shape) = (policies(), shape());
    let ledger = tempfile::tempdir().unwrap();
    let ledger = open_with(ledger.path(), Arc::new(StandsStill));
    // Once without counting, so that whatever is made once is there.
    let mut call = stage_admit(&profile, &message, 1);
    let mut interpreted = stage_interpret(&profile, &call, 1);
    stage_decide(&policies, &shape, &interpreted, 1);
    let reserved = stage_reserve(&ledger, "w", 1);
    stage_settle(&ledger, reserved);
    if rounds > 0 {
        call = budgeted_admit(&profile, &message, rounds);
        interpreted = budgeted_interpret(&profile, &call, rounds);
        budgeted_decide(&policies, &shape, &interpreted, rounds);
        let reserved = budgeted_reserve(&ledger, rounds);
        budgeted_settle(&ledger, reserved);
        budgeted_end();
    }
    ledger.stop().unwrap();
}

#[inline(never)]
fn budgeted_admit(profile: &Profile, message: &[u8], rounds: u32) -> Vec<u8> {
    stage_admit(profile, message, rounds)
}

#[inline(never)]
fn budgeted_interpret(profile: &Profile, action: &[u8], rounds: u32) -> Interpreted {
    stage_interpret(profile, action, rounds)
}

#[inline(never)]
fn budgeted_decide(policies: &PolicySet, shape: &Shape, interpreted: &Interpreted, rounds: u32) {
    stage_decide(policies, shape, interpreted, rounds);
}

#[inline(never)]
fn budgeted_reserve(ledger: &countersign_ledger::Ledger, rounds: u32) -> Vec<Reserved> {
    stage_reserve(ledger, "e", rounds)
}

#[inline(never)]
fn budgeted_settle(ledger: &countersign_ledger::Ledger, reserved: Vec<Reserved>) {
    stage_settle(ledger, reserved);
}

/// Where counting ends.
#[inline(never)]
fn budgeted_end() {
    black_box(());
}

/// An engine whose compiled code is kept in `folder`.
fn profile(folder: &Path) -> Profile {
    let random = |bytes: &mut [u8]| {
        bytes.fill(7);
        true
    };
    let settings = Settings {
        slots: 1,
        cache: Some(CacheSettings {
            folder: folder.join("profiles"),
            random,
        }),
    };
    let engine = Engine::new(&settings).unwrap();
    let default = embedded::default().unwrap().pin().id.clone();
    engine.load_embedded(&default).unwrap()
}

fn message() -> Vec<u8> {
    let client = Client::unconnected("http://127.0.0.1:9/mcp", Revision::July2026, None);
    let arguments = rules::arguments();
    let call = Call::new(rules::TOOL, &arguments).under("e-1");
    client.message(&call).into_bytes()
}

fn policies() -> PolicySet {
    let bundle = Bundle::of([("default.cedar".to_owned(), rules::policies())]).unwrap();
    let shape = shape();
    let tools = rules::TOOLS.map(|name| Typed {
        tool: tool(name),
        shape: Some(&shape),
    });
    PolicySet::load_for(bundle, &tools).unwrap()
}

fn shape() -> Shape {
    Shape::of_schema(rules::schema().to_string().as_bytes()).unwrap()
}

fn tool(name: &str) -> Tool<'_> {
    Tool {
        server: "ledger",
        name,
        class: Class::SideEffecting,
    }
}

fn stage_admit(profile: &Profile, message: &[u8], rounds: u32) -> Vec<u8> {
    let mut action = Vec::new();
    for _ in 0..rounds {
        let Ok(Admitted::Call(call)) = profile.admit(black_box(message)).unwrap() else {
            unreachable!()
        };
        action = call.action;
    }
    action
}

fn stage_interpret(profile: &Profile, action: &[u8], rounds: u32) -> Interpreted {
    let mut interpreted = None;
    for _ in 0..rounds {
        interpreted = Some(profile.interpret(black_box(action)).unwrap().unwrap());
    }
    interpreted.unwrap()
}

fn stage_decide(policies: &PolicySet, shape: &Shape, interpreted: &Interpreted, rounds: u32) {
    let request = Request {
        agent: Agent {
            method: "token",
            issuer: "",
            subject: "payments-agent",
        },
        identity: Identity::default(),
        tool: tool(&interpreted.tool),
        view: &interpreted.view,
        shape: Some(shape),
        execution_id: Some("e-1"),
        workflow_id: None,
        client: CLIENT,
        continuation: None,
        revision: "2026-07-28",
    };
    for _ in 0..rounds {
        let decision = black_box(policies.decide(black_box(&request)));
        assert!(decision.allow(), "{decision:?}");
    }
}

fn stage_reserve(ledger: &countersign_ledger::Ledger, name: &str, rounds: u32) -> Vec<Reserved> {
    let mut reserved = Vec::new();
    for round in 0..rounds {
        let id = format!("{name}-{round:06}");
        let attempt = attempt(&format!("c-{id}"), &id, Classification::Fresh);
        match ledger.reserve(attempt).wait().unwrap() {
            Verdict::Reserved(permit) => reserved.push(*permit),
            other => panic!("not reserved: {other:?}"),
        }
    }
    reserved
}

fn stage_settle(ledger: &countersign_ledger::Ledger, reserved: Vec<Reserved>) {
    for permit in reserved {
        permit.token.gate().pass().unwrap();
        ledger.settle(permit.token, answered()).wait().unwrap();
    }
}

/// Nothing falls due, however slow the machine.
struct StandsStill;

impl Clock for StandsStill {
    fn wall_us(&self) -> i64 {
        1_767_323_045_000_000
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn since_boot(&self) -> Duration {
        Duration::ZERO
    }
}
