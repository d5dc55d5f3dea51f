//! Lies about an honest bundle, and the claim that catches each.
//!
//! Two sorts of liar: one who got hold of the file and not of the key, and the
//! gateway itself, which signs what it likes. The first is always caught. The
//! second is caught wherever what it wrote can be computed from something else;
//! the rest is on the list in [`BEYOND`], each with the reason.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    unreachable_pub,
    reason = "a test says what fails by failing"
)]

mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use countersign_canon::{Digest, Document, Limits};
use countersign_evidence::checkpoint::Checkpoint;
use countersign_evidence::tree::{Frontier, Hash};
use countersign_verifier::{Claim, Inputs, Level, Report, Status, Verdict, verify};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use world::{Export, World, digest, key};

fn check(export: &Export, inputs: &Inputs) -> Report {
    verify(Cursor::new(export.bundle()), inputs).unwrap()
}

fn values(export: &Export) -> Vec<Value> {
    export
        .lines
        .iter()
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// In canonical form, whatever order serde_json keeps.
fn bytes(value: &Value) -> Vec<u8> {
    let text = serde_json::to_vec(value).unwrap();
    Document::read(&text, Limits::STANDARD)
        .unwrap()
        .root()
        .canonical()
}

/// The first entry of each kind and verdict: one of every sort.
fn sorts(values: &[Value]) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    let sort = |value: &Value| {
        let parts = ["kind", "classification", "round"].map(|name| value[name].to_string());
        (parts, value["execution_seq"].is_null())
    };
    (0..values.len())
        .filter(|index| seen.insert(sort(&values[*index])))
        .collect()
}

/// Gives an entry the hash of its bytes.
fn seal(value: &mut Value) -> Hash {
    value.as_object_mut().unwrap().remove("hash");
    let hash: Hash = Sha256::new_with_prefix([0])
        .chain_update(bytes(value))
        .finalize()
        .into();
    value["hash"] = Digest::from_bytes(hash).as_str().into();
    hash
}

/// Writes a log again as its owner would: links, hashes, and its signature.
fn rewrite(export: &Export, mut values: Vec<Value>) -> Export {
    let mut renamed = BTreeMap::new();
    let mut last = Value::Null;
    let mut tree = Frontier::new();
    for value in &mut values {
        let old = value["hash"].clone();
        value["previous"] = last;
        if let Some(new) = renamed.get(&value["execution_previous"].to_string()) {
            value["execution_previous"] = Value::clone(new);
        }
        tree.append(seal(value));
        last = value["hash"].clone();
        renamed.insert(old.to_string(), last.clone());
    }
    let checkpoint = Checkpoint {
        log_id: export.log_id.clone(),
        size: tree.size(),
        root: tree.root(),
    };
    Export {
        lines: values.iter().map(bytes).collect(),
        notes: vec![checkpoint.sign(&key(1))],
        size: tree.size(),
        ..export.clone()
    }
}

/// Which claims hold less than they did before.
fn caught(report: &Report) -> BTreeSet<Claim> {
    report
        .claims
        .iter()
        .filter(|claim| claim.status != Status::Verified)
        .map(|claim| claim.claim)
        .collect()
}

/// Values that could stand in a field, all well formed.
fn plausible(name: &str) -> Vec<Value> {
    let d = |text: &str| Value::from(digest(text).as_str());
    match name {
        "agent" | "agent_before" => {
            vec![json!({"issuer": "ops", "method": "token", "subject": "liar"})]
        }
        "answer_bytes" | "fence" => vec![json!(0), json!(1), json!(77)],
        "binding"
        | "client_digest"
        | "component"
        | "continuation"
        | "policy_digest"
        | "request_state_issued"
        | "request_state_presented"
        | "server_digest"
        | "answer_digest" => {
            vec![d("lie")]
        }
        "call_id" | "session_id" | "execution_id" | "workflow_id" | "server" => vec![json!("lie")],
        "catalog" => vec![json!({"approved": null, "attributed": d("lie"), "discovered": null})],
        "classification" => vec![
            json!({"difference": [], "outcome": null, "verdict": "fresh"}),
            json!({"difference": [], "outcome": null, "verdict": "in-flight"}),
            json!({"difference": [], "outcome": "not-attempted", "verdict": "replay"}),
            json!({"difference": ["target"], "outcome": null, "verdict": "collision"}),
            json!({"difference": ["not-admissible"], "outcome": null, "verdict": "collision"}),
        ],
        "client" => vec![json!("{\"lie\":1}")],
        "decision" => vec![
            json!({"allow": true, "determining": [], "reason": "permitted"}),
            json!({"allow": false, "determining": [], "reason": "forbidden"}),
        ],
        "effect_boundary" => [
            "pre-transport",
            "transport-may-have-started",
            "response-received",
        ]
        .map(Value::from)
        .into(),
        "execution_id_status" => ["absent", "present", "malformed", "unread"]
            .map(Value::from)
            .into(),
        "key" => vec![json!({"next": "a", "previous": "b", "signature": "c"})],
        "kind" => [
            "admission",
            "refusal",
            "terminal",
            "blocked",
            "resolution",
            "late-answer",
            "task",
            "round",
            "start",
            "suppressed",
            "unheard-of",
        ]
        .map(Value::from)
        .into(),
        "outcome" => [
            "succeeded",
            "tool-error",
            "not-attempted",
            "outcome-unknown",
        ]
        .map(Value::from)
        .into(),
        "policy_inputs" => {
            vec![json!({"audience": null, "class": "destructive", "proof_key": null})]
        }
        "resolution" => vec![json!({"evidence": null, "operator": "liar", "reason": ""})],
        "round" => vec![
            json!({"number": 2, "says": "asked"}),
            json!({"number": 1, "says": "claimed"}),
        ],
        "suppressed" => vec![
            json!({"count": 1, "from": "2026-01-02T03:04:05.000006Z", "to": "2026-01-02T03:04:05.000006Z"}),
        ],
        "task" => vec![json!({"id": d("lie"), "status": "lie"})],
        "time" => vec![json!("2027-01-02T03:04:05.000006Z")],
        "profile" => vec![json!("exact@1.0.1")],
        "execution_seq" => vec![json!(0), json!(5)],
        "execution_previous" => vec![d("lie")],
        "sequence" => vec![json!(3), json!(99)],
        "previous" | "hash" => vec![d("lie")],
        "log_id" => vec![json!("log.example/2")],
        _ => vec![json!("lie")],
    }
}

/// Every change of one field of one entry.
fn changes(entry: &Value) -> Vec<(String, Value)> {
    let mut changes = Vec::new();
    for (name, value) in entry.as_object().unwrap() {
        let required = ["catalog", "hash", "kind", "log_id", "sequence", "time"];
        let mut others = plausible(name);
        if !required.contains(&name.as_str()) {
            others.push(Value::Null);
        }
        changes.extend(
            others
                .into_iter()
                .filter(|other| other != value)
                .map(|other| (name.clone(), other)),
        );
    }
    changes
}

#[test]
fn whoever_has_not_the_key_changes_no_field_of_any_entry() {
    let world = World::full();
    let export = Export::of(&world);
    let mut inputs = world.inputs();
    inputs.requests.clear();
    let all = values(&export);
    for index in sorts(&all) {
        let entry = all[index].clone();
        for (name, value) in changes(&entry) {
            for sealed in [false, true] {
                let mut lie = entry.clone();
                lie[&name] = value.clone();
                if sealed {
                    seal(&mut lie);
                }
                // A hash that was only changed and then sealed is as it was.
                if lie == entry {
                    continue;
                }
                let mut export = export.clone();
                export.lines[index] = bytes(&lie);
                let report = check(&export, &inputs);
                let integrity = report.status(Claim::Integrity) == Status::Contradicted;
                // Moved elsewhere, it is missed where it was.
                let missed = report.status(Claim::Completeness) == Status::Contradicted;
                let moved = ["log_id", "sequence"].contains(&name.as_str());
                assert!(integrity || (moved && missed), "{index} {name} {value}");
            }
        }
    }
}

#[test]
fn whoever_has_not_the_key_takes_adds_moves_and_cuts_nothing() {
    let world = World::full();
    let whole = Export::of(&world);
    let inputs = world.inputs();
    let count = whole.lines.len();
    let mut cases: Vec<(String, Export)> = Vec::new();
    for index in 0..count {
        let mut without = whole.clone();
        without.lines.remove(index);
        cases.push((format!("drop {index}"), without));
        let mut twice = whole.clone();
        twice.lines.insert(index, whole.lines[index].clone());
        cases.push((format!("twice {index}"), twice));
        let mut cut = whole.clone();
        cut.lines.truncate(index);
        cases.push((format!("cut {index}"), cut.clone()));
        cut.size = index as u64;
        cases.push((format!("cut {index}, and the manifest"), cut));
        if index > 0 {
            let mut swapped = whole.clone();
            swapped.lines.swap(index - 1, index);
            cases.push((format!("swap {index}"), swapped));
        }
    }
    let mut other = World::new();
    other.head = countersign_evidence::Head::new(world.head.log_id().clone());
    let mut spliced = whole.clone();
    spliced.lines[2] = bytes(&{
        let mut value: Value = serde_json::from_slice(other.entries[2].bytes()).unwrap();
        value["time"] = json!("2027-01-02T03:04:05.000006Z");
        seal(&mut value);
        value
    });
    cases.push(("splice".into(), spliced));
    let mut resigned = whole.clone();
    resigned.notes = vec![Checkpoint::of(&world.head).sign(&key(2))];
    cases.push(("another key".into(), resigned));
    let mut forged = whole.clone();
    forged
        .notes
        .push(whole.notes[0].replacen("\n\n", "\nextension\n\n", 1));
    cases.push(("an edited note".into(), forged));
    let mut component = whole.clone();
    component.component = b"another component".to_vec();
    cases.push(("another component".into(), component));
    let mut policies = whole.clone();
    policies.policies[0].1.push(b'\n');
    cases.push(("other policies".into(), policies));
    for (what, export) in cases {
        let report = check(&export, &inputs);
        assert_eq!(
            report.verdict(&Level::default()),
            Verdict::Contradicted,
            "{what}: {}",
            report.to_text(&Level::default())
        );
    }
}

/// Kinds that are about no execution.
const APART: &[&str] = &[
    "start",
    "profile-loaded",
    "policy-loaded",
    "catalog-approved",
    "suppressed",
];

/// An attempt that met no row and whose request is not at hand.
const UNREAD: &str =
    "of an attempt that was refused before it was read, only its request would show it";

/// What the gateway can write without being caught offline, and why. `*` is
/// every kind.
const BEYOND: &[(&str, &[&str], &str)] = &[
    ("time", &["*"], "clocks cannot be checked afterwards"),
    (
        "session_id",
        &["*"],
        "the gateway mints it, and nothing else holds it",
    ),
    ("incarnation", &["*"], "the gateway mints it"),
    (
        "fence",
        &["*"],
        "the gateway mints it; only that it never falls is checked",
    ),
    (
        "authority",
        &["*"],
        "as the gateway authenticated it; checked only where a policy reads it",
    ),
    (
        "represented_user",
        &["*"],
        "as the gateway authenticated it; checked only where a policy reads it",
    ),
    ("agent_before", &["*"], "says something in an alias alone"),
    (
        "agent",
        &["*"],
        "as the gateway authenticated it; where an execution links, it is checked",
    ),
    (
        "call_id",
        &["*"],
        "the gateway mints it; a receipt names it",
    ),
    (
        "revision",
        &["*"],
        "not in the request; checked only where a policy reads it",
    ),
    ("world", &["*"], "the component's digest says it"),
    (
        "suppressed",
        &["*"],
        "what was not written one by one cannot be counted again",
    ),
    ("task", &["*"], "the upstream minted it"),
    ("key", &["*"], "says something in a rotation alone"),
    (
        "resolution",
        &["*"],
        "what an operator stated is not computed from anything",
    ),
    (
        "client_digest",
        &["*"],
        "where no request is at hand, or it is left out",
    ),
    (
        "answer_digest",
        &["*"],
        "whoever holds the answer computes it",
    ),
    (
        "answer_bytes",
        &["*"],
        "whoever holds the answer computes it",
    ),
    (
        "catalog",
        &["*"],
        "discovered and approved are the gateway's word; attributed is checked on calls",
    ),
    (
        "execution_id_status",
        &["*"],
        "says only what kind of absence it was",
    ),
    (
        "policy_inputs",
        &["*"],
        "what the gateway knew; checked only where a policy reads it",
    ),
    (
        "effect_boundary",
        &["*"],
        "how far it got is the gateway's word, within what its outcome allows",
    ),
    (
        "outcome",
        &["*"],
        "what the upstream answered is the gateway's word: the caller's answer and receipt show it",
    ),
    (
        "request_state_issued",
        &["*"],
        "the upstream's; checked where a continuation answers it",
    ),
    (
        "workflow_id",
        &["*"],
        "the caller's; with two attempts of one binding, the request at hand may be the other's",
    ),
    (
        "evaluator",
        &["*"],
        "says something beside a decision alone",
    ),
    (
        "decision",
        &["refusal"],
        "where the code does not name policy, nothing hangs on it",
    ),
    (
        "policy_digest",
        &["*"],
        "checked where a call was permitted or its decision is made again",
    ),
    (
        "refusal",
        &["*"],
        "a code that is no verdict is the gateway's word",
    ),
    (
        "kind",
        &["refusal", "start", "suppressed", "resolution"],
        "an entry that moves no execution can be called another that moves none; an unknown name is reported",
    ),
    (
        "request_state_presented",
        &["refusal"],
        "with two attempts of one binding, the request at hand may be the other's",
    ),
    (
        "server_digest",
        &["catalog-approved"],
        "left out, an approval holds for the server's name",
    ),
    ("binding", &["refusal"], UNREAD),
    ("component", &["refusal"], UNREAD),
    ("profile", &["refusal"], UNREAD),
    ("server", &["refusal"], UNREAD),
    ("server_digest", &["refusal"], UNREAD),
    ("tool", &["refusal"], UNREAD),
    ("execution_id", &["refusal"], UNREAD),
    ("continuation", &["refusal"], UNREAD),
];

#[test]
fn the_gateway_itself_is_caught_in_every_field_that_can_be_computed_from_another() {
    let world = World::full();
    let export = Export::of(&world);
    let mut inputs = world.inputs();
    inputs.receipts = Vec::new();
    let mut used = BTreeSet::new();
    let mut open = BTreeSet::new();
    let mut table: BTreeMap<String, BTreeSet<Claim>> = BTreeMap::new();
    let all = values(&export);
    for index in sorts(&all) {
        let entry = &all[index];
        for (name, value) in changes(entry) {
            // These the gateway writes anew below.
            if ["hash", "previous", "sequence", "log_id"].contains(&name.as_str()) {
                continue;
            }
            let kind = entry["kind"].as_str().unwrap();
            // A field that means nothing in an entry of this kind says nothing
            // false about anything.
            if entry[&name].is_null() && APART.contains(&kind) {
                continue;
            }
            let mut lies = all.clone();
            lies[index][&name] = value.clone();
            let report = check(&rewrite(&export, lies), &inputs);
            let claims = caught(&report);
            if claims.is_empty() {
                match BEYOND.iter().position(|(field, kinds, _)| {
                    *field == name && (kinds.contains(&"*") || kinds.contains(&kind))
                }) {
                    Some(row) => drop(used.insert(row)),
                    None => drop(open.insert(format!("{kind}: {name} → {value}"))),
                }
            }
            table
                .entry(format!("{kind}: {name}"))
                .or_default()
                .extend(claims);
        }
    }
    for (what, claims) in &table {
        let words: Vec<&str> = claims.iter().map(|claim| claim.as_str()).collect();
        println!("{what:<40} {}", words.join(", "));
    }
    assert!(
        open.is_empty(),
        "caught by no claim:\n{}",
        Vec::from_iter(open).join("\n")
    );
    let unused: Vec<&str> = (0..BEYOND.len())
        .filter(|row| !used.contains(row))
        .map(|row| BEYOND[row].0)
        .collect();
    assert!(
        unused.is_empty(),
        "these are always caught, so take them off the list: {unused:?}"
    );
}

#[test]
fn the_gateway_cannot_leave_out_or_move_what_an_execution_links() {
    let world = World::full();
    let export = Export::of(&world);
    let all = values(&export);
    let renumber = |mut values: Vec<Value>| {
        for (index, value) in values.iter_mut().enumerate() {
            value["sequence"] = index.into();
        }
        rewrite(&export, values)
    };
    for index in 0..all.len() {
        let linked = !all[index]["execution_seq"].is_null();
        let tip = all
            .iter()
            .all(|other| other["execution_previous"] != all[index]["hash"]);
        let mut without = all.clone();
        without.remove(index);
        let report = check(&renumber(without), &world.inputs());
        // The last entry of an execution, and one on none, can be left out by
        // its author: only a receipt for it shows that.
        if linked && !tip {
            assert_eq!(
                report.status(Claim::Ordering),
                Status::Contradicted,
                "{index}"
            );
        }
        let mut twice = all.clone();
        twice.insert(index, all[index].clone());
        let report = check(&renumber(twice), &world.inputs());
        if linked {
            assert_eq!(
                report.status(Claim::Ordering),
                Status::Contradicted,
                "{index}"
            );
        }
    }
}

#[test]
fn a_second_reservation_is_a_contradiction_however_it_is_written() {
    let world = World::full();
    let export = Export::of(&world);
    let mut all = values(&export);
    let mut again = all
        .iter()
        .find(|entry| entry["kind"] == "admission")
        .unwrap()
        .clone();
    again["sequence"] = all.len().into();
    again["call_id"] = "again".into();
    all.push(again);
    let report = check(&rewrite(&export, all), &world.inputs());
    assert_eq!(
        report.status(Claim::Ordering),
        Status::Contradicted,
        "{}",
        report.to_text(&Level::default())
    );
}

#[test]
fn a_request_that_was_changed_after_the_fact_contradicts_admission() {
    let world = World::full();
    let export = Export::of(&world);
    let mut inputs = world.inputs();
    let message = String::from_utf8(inputs.requests[0].message.clone()).unwrap();
    for (from, to, status) in [
        (r#""amount":5"#, r#""amount":6"#, Status::Contradicted),
        (r#""amount":5"#, r#""amount":5e0"#, Status::Contradicted),
        ("w-1", "w-2", Status::Contradicted),
        (r#"{"name":"x"}"#, r#"{"name":"y"}"#, Status::Contradicted),
        ("e-1", "e-99", Status::NotEstablished),
        (r#""method""#, r#""methods""#, Status::NotEstablished),
        (r#""id":1"#, r#""id":2"#, Status::Verified),
        (r#","arguments""#, r#"  ,"arguments""#, Status::Verified),
    ] {
        let changed = message.replacen(from, to, 1);
        assert_ne!(changed, message);
        inputs.requests.truncate(1);
        inputs.requests[0].message = changed.into_bytes();
        assert_eq!(
            check(&export, &inputs).status(Claim::Admission),
            status,
            "{from} → {to}"
        );
    }
}
