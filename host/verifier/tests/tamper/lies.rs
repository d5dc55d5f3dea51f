//! How to lie: entries as values, every change of one field, and the hands
//! that a liar has: one that can only write the file, and one that holds the
//! key too.

use std::collections::BTreeSet;

use countersign_canon::{Digest, Document, Limits};
use countersign_evidence::tree::Hash;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

fn digest(text: &str) -> Digest {
    Digest::of(&[text.as_bytes()])
}

pub fn values(lines: &[Vec<u8>]) -> Vec<Value> {
    lines
        .iter()
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// In canonical form, whatever order serde_json keeps.
pub fn bytes(value: &Value) -> Vec<u8> {
    let text = serde_json::to_vec(value).unwrap();
    Document::read(&text, Limits::STANDARD)
        .unwrap()
        .root()
        .canonical()
}

/// The first entry of each kind and verdict: one of every sort.
pub fn sorts(values: &[Value]) -> Vec<usize> {
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
pub fn seal(value: &mut Value) -> Hash {
    value.as_object_mut().unwrap().remove("hash");
    let hash: Hash = Sha256::new_with_prefix([0])
        .chain_update(bytes(value))
        .finalize()
        .into();
    value["hash"] = Digest::from_bytes(hash).as_str().into();
    hash
}

/// Values that could stand in a field, all well formed.
pub fn plausible(name: &str) -> Vec<Value> {
    let d = |text: &str| Value::from(digest(text).as_str());
    match name {
        "agent" | "agent_before" => {
            vec![json!({"issuer": "ops", "method": "token", "subject": "liar"})]
        }
        "answer_bytes" | "fence" => vec![json!(0), json!(1), json!(77)],
        "blind" => vec![json!("salted"), json!("withheld")],
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
        "catalog" => vec![
            json!({"approved": null, "attributed": d("lie"), "discovered": null}),
            json!({"approved": d("lie"), "attributed": d("lie"), "discovered": null}),
        ],
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
        "represented_user" | "authority" => vec![json!("l\u{fc}ge"), json!("lie")],
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
pub fn changes(entry: &Value) -> Vec<(String, Value)> {
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
