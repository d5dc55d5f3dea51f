//! Entries: what is written, what is hashed, and what is read back.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    unreachable_pub,
    reason = "a test says what fails by failing"
)]

use countersign_canon::{Classification, Difference, Digest, Document, Limits, Outcome};
use countersign_evidence::{
    Agent, Blinding, Catalog, Classified, Decision, Draft, EffectBoundary, Entry,
    ExecutionIdStatus, Head, KeyRotation, Kind, Link, LogId, MalformedEntry, MalformedSalt,
    PolicyInputs, Receipt, Resolution, Round, RoundSays, Salt, Suppressed, Task, Time,
};
use sha2::{Digest as _, Sha256};

fn digest(text: &str) -> Digest {
    Digest::of(&[text.as_bytes()])
}

fn agent(subject: &str) -> Agent {
    Agent {
        method: "token".into(),
        issuer: String::new(),
        subject: subject.into(),
    }
}

/// A draft in which every field is present.
fn full(kind: Kind) -> Draft {
    let mut draft = Draft::new(kind, Time::from_micros(1_767_323_045_000_006));
    draft.call_id = "call-1".parse().ok();
    draft.session_id = "session-1".parse().ok();
    draft.agent = Some(agent("bücher\u{1f600}\n\"x\""));
    draft.agent_before = Some(agent("before"));
    draft.represented_user = Some("ü".into());
    draft.authority = Some("mandate-7".into());
    draft.execution_id = "e-1".parse().ok();
    draft.execution_id_status = Some(ExecutionIdStatus::Present);
    draft.workflow_id = "w-1".parse().ok();
    draft.revision = Some("2025-11-25".into());
    draft.client_digest = Some(digest("client"));
    draft.client = Some(r#"{"x":1.0}"#.into());
    draft.server = "ledger".parse().ok();
    draft.server_digest = Some(digest("server"));
    draft.tool = Some("transfér".into());
    draft.profile = Some("exact@1.0.0".into());
    draft.world = Some("countersign:admission@1.0.0".into());
    draft.component = Some(digest("component"));
    draft.binding = Some(digest("binding"));
    draft.continuation = Some(digest("continuation"));
    draft.request_state_presented = Some(digest("presented"));
    draft.request_state_issued = Some(digest("issued"));
    let difference = Difference {
        binding: true,
        target: true,
    };
    draft.classification = Some(Classification::Collision(difference).into());
    draft.refusal = "execution-collision".parse().ok();
    draft.decision = Some(Decision {
        allow: true,
        determining: vec!["a".into(), "b".into()],
        reason: "permitted".into(),
    });
    draft.policy_inputs = Some(PolicyInputs {
        class: "read-only".into(),
        audience: Some("me".into()),
        proof_key: None,
    });
    draft.evaluator = Some("cedar-policy 4.14.1".into());
    draft.policy_digest = Some(digest("policy"));
    draft.catalog = Catalog {
        discovered: Some(digest("discovered")),
        approved: Some(digest("approved")),
        attributed: Some(digest("attributed")),
    };
    draft.effect_boundary = Some(EffectBoundary::ResponseReceived);
    draft.outcome = Some(Outcome::Succeeded);
    draft.answer_digest = Some(digest("answer"));
    draft.answer_bytes = Some(12);
    draft.fence = Some(3);
    draft.incarnation = Some("4".into());
    draft.round = Some(Round {
        says: RoundSays::Asked,
        number: 1,
    });
    draft.task = Some(Task {
        id: digest("task"),
        status: "working".into(),
    });
    draft.suppressed = Some(Suppressed {
        count: 7,
        from: Time::from_micros(1),
        to: Time::from_micros(2),
    });
    draft.resolution = Some(Resolution {
        operator: "ops".into(),
        reason: "seen at the bank".into(),
        evidence: Some(digest("evidence")),
    });
    draft.key = Some(KeyRotation {
        previous: "p".into(),
        next: "n".into(),
        signature: "s".into(),
    });
    draft
}

fn head() -> Head {
    Head::new(LogId::new("log.example/1").unwrap())
}

fn link(execution_seq: u64) -> Link {
    Link {
        execution_seq,
        execution_previous: (execution_seq > 0).then(|| digest("before")),
    }
}

fn json(entry: &Entry) -> serde_json::Value {
    serde_json::from_slice(entry.bytes()).unwrap()
}

#[test]
fn every_field_is_written_and_absence_is_null() {
    let empty = head().append(Draft::new(Kind::Start, Time::from_micros(0)), None);
    let fields = json(&empty);
    let fields = fields.as_object().unwrap();
    assert_eq!(fields.len(), 49);
    let present: Vec<_> = fields
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(
        present,
        ["catalog", "hash", "kind", "log_id", "sequence", "time"]
    );
    let full = head().append(full(Kind::Refusal), Some(link(1)));
    let absent: Vec<_> = json(&full)
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| value.is_null())
        .map(|(name, _)| name.clone())
        .collect();
    // The first entry of a log has none before it, and this one is not blinded.
    assert_eq!(absent, ["blind", "previous"]);
}

#[test]
fn the_bytes_are_sorted_unspaced_and_hold_no_fraction() {
    let entry = head().append(full(Kind::Refusal), Some(link(1)));
    assert_eq!(canonical(&json(&entry)), entry.bytes());
    let names: Vec<String> = json(&entry).as_object().unwrap().keys().cloned().collect();
    // For ASCII the order of bytes is that of UTF-16 code units.
    assert!(names.is_sorted());
}

#[test]
fn the_hash_is_over_the_bytes_without_the_member_hash() {
    let entry = head().append(full(Kind::Refusal), Some(link(1)));
    let mut fields = json(&entry);
    fields.as_object_mut().unwrap().remove("hash").unwrap();
    let bytes = canonical(&fields);
    let hash = Sha256::new_with_prefix([0]).chain_update(bytes).finalize();
    assert_eq!(entry.hash(), Digest::from_bytes(hash.into()));
    assert_eq!(json(&entry)["hash"], entry.hash().as_str());
}

#[test]
fn an_entry_of_every_kind_reads_back_whole() {
    for kind in Kind::ALL {
        for draft in [
            full(kind.clone()),
            Draft::new(kind.clone(), Time::from_micros(5)),
        ] {
            for link in [None, Some(link(0)), Some(link(9))] {
                let entry = head().append(draft.clone(), link);
                assert_eq!(Entry::parse(entry.bytes()).unwrap(), entry);
            }
        }
    }
}

#[test]
fn a_log_chains_its_entries_and_goes_on_from_its_stored_head() {
    let mut head = head();
    let mut last = None;
    for number in 0..20 {
        let draft = Draft::new(Kind::Refusal, Time::from_micros(number));
        let entry = head.append(draft, None);
        assert_eq!(entry.sequence(), number.cast_unsigned());
        assert_eq!(entry.previous(), last);
        last = Some(entry.hash());
        let again = Head::decode(head.log_id().clone(), &head.encode()).unwrap();
        assert_eq!(again, head);
        for cut in [0, 8, 39, head.encode().len() - 1] {
            assert!(Head::decode(head.log_id().clone(), &head.encode()[..cut]).is_err());
        }
    }
}

#[test]
fn an_unknown_kind_and_unknown_members_are_kept_and_can_be_told() {
    let entry = head().append(full(Kind::Refusal), None);
    let mut fields = json(&entry);
    fields["kind"] = "from-the-future".into();
    fields["aa_new"] = serde_json::json!({"x": [1, "ü"]});
    let entry = Entry::parse(&sealed(fields)).unwrap();
    assert!(matches!(entry.said().kind, Kind::Other(_)));
    assert_eq!(entry.said().kind.as_str(), "from-the-future");
    assert_eq!(entry.unknown_members(), ["aa_new"]);
}

/// In canonical form, whatever order serde_json keeps.
fn canonical(fields: &serde_json::Value) -> Vec<u8> {
    let text = serde_json::to_vec(fields).unwrap();
    Document::read(&text, Limits::STANDARD)
        .unwrap()
        .root()
        .canonical()
}

/// Gives changed fields the hash that they need to look genuine.
fn sealed(mut fields: serde_json::Value) -> Vec<u8> {
    fields.as_object_mut().unwrap().remove("hash");
    let bytes = canonical(&fields);
    let hash = Sha256::new_with_prefix([0]).chain_update(bytes).finalize();
    fields["hash"] = Digest::from_bytes(hash.into()).as_str().into();
    canonical(&fields)
}

#[test]
fn what_is_never_written_is_not_read() {
    let entry = head().append(full(Kind::Refusal), Some(link(1)));
    let text = std::str::from_utf8(entry.bytes()).unwrap();
    assert!(matches!(
        Entry::parse(b"[]"),
        Err(MalformedEntry::NotCanonical)
    ));
    assert!(matches!(
        Entry::parse(b"{"),
        Err(MalformedEntry::NotJson(_))
    ));
    let spaced = text.replacen(':', ": ", 1);
    assert!(matches!(
        Entry::parse(spaced.as_bytes()),
        Err(MalformedEntry::NotCanonical)
    ));
    let escaped = text.replacen("ü", "\\u00fc", 1);
    assert!(matches!(
        Entry::parse(escaped.as_bytes()),
        Err(MalformedEntry::NotCanonical)
    ));
    let changed = text.replacen("call-1", "call-2", 1);
    assert!(matches!(
        Entry::parse(changed.as_bytes()),
        Err(MalformedEntry::Hash)
    ));
    for (name, value) in [
        ("sequence", serde_json::json!(1.5)),
        ("sequence", serde_json::json!(-1)),
        ("sequence", serde_json::json!("1")),
        ("sequence", serde_json::json!(9_007_199_254_740_992_u64)),
        ("time", serde_json::json!("2026-01-02T03:04:05Z")),
        ("binding", serde_json::json!("sha256:00")),
        ("blind", serde_json::json!("hidden")),
        ("outcome", serde_json::json!("done")),
        (
            "classification",
            serde_json::json!({"verdict": "replay", "outcome": null, "difference": []}),
        ),
        (
            "decision",
            serde_json::json!({"allow": true, "determining": []}),
        ),
        (
            "agent",
            serde_json::json!({"method": "a", "issuer": "b", "subject": "c", "d": 1}),
        ),
        ("log_id", serde_json::json!(null)),
    ] {
        let mut fields = json(&entry);
        fields[name] = value;
        let error = Entry::parse(&sealed(fields)).unwrap_err();
        assert!(
            matches!(error, MalformedEntry::Member(found) if found == name),
            "{name}: {error}"
        );
    }
    for name in json(&entry).as_object().unwrap().keys() {
        let mut fields = json(&entry);
        fields.as_object_mut().unwrap().remove(name);
        let bytes = if name == "hash" {
            canonical(&fields)
        } else {
            sealed(fields)
        };
        // Entries that are older than blinding do not have it.
        if name == "blind" {
            let older = Entry::parse(&bytes).unwrap();
            assert_eq!(older.said().blind, Blinding::Plain);
            continue;
        }
        let error = Entry::parse(&bytes).unwrap_err();
        assert!(
            matches!(error, MalformedEntry::Missing(found) if found == name),
            "{name}: {error}"
        );
    }
    let mut fields = json(&entry);
    fields["execution_seq"] = 0.into();
    assert!(matches!(
        Entry::parse(&sealed(fields)),
        Err(MalformedEntry::Link)
    ));
}

#[test]
fn a_receipt_names_its_entry_and_reads_back_however_it_is_spaced() {
    let entry = head().append(full(Kind::Terminal), Some(link(1)));
    let receipt = Receipt::of(&entry).unwrap();
    assert_eq!(Receipt::parse(&receipt.to_json()).unwrap(), receipt);
    let value: serde_json::Value = serde_json::from_slice(&receipt.to_json()).unwrap();
    assert_eq!(canonical(&value), receipt.to_json());
    let pretty = serde_json::to_vec_pretty(&value).unwrap();
    assert_eq!(Receipt::parse(&pretty).unwrap(), receipt);
    assert_eq!(value["entry_hash"], entry.hash().as_str());
    assert!(Receipt::parse(b"{}").is_err());
    let nameless = head().append(Draft::new(Kind::Start, Time::from_micros(0)), None);
    assert_eq!(Receipt::of(&nameless), None);
}

#[test]
fn a_verdict_that_the_host_gave_is_told_apart() {
    let mut draft = full(Kind::Refusal);
    draft.classification = Some(Classified::NotAdmissible);
    let entry = head().append(draft, Some(link(1)));
    assert_eq!(
        json(&entry)["classification"]["difference"],
        serde_json::json!(["not-admissible"])
    );
    assert_eq!(Entry::parse(entry.bytes()).unwrap(), entry);
}

#[test]
fn a_blinded_entry_holds_what_its_salt_and_a_shell_give() {
    let salt = Salt::new([7; 32]);
    let mut blinded = full(Kind::Terminal);
    let plain = blinded.clone();
    blinded.blind(&salt);
    for (value, hidden) in [
        (plain.binding, blinded.binding),
        (plain.continuation, blinded.continuation),
        (plain.answer_digest, blinded.answer_digest),
    ] {
        let mut text = vec![7; 32];
        text.extend_from_slice(value.unwrap().as_str().as_bytes());
        assert_eq!(hidden, Some(Digest::of(&[&text])));
    }
    // Nothing else of it is another.
    let (mut with, mut without) = (
        json(&head().append(blinded.clone(), Some(link(1)))),
        json(&head().append(plain.clone(), Some(link(1)))),
    );
    for name in ["binding", "continuation", "answer_digest", "blind", "hash"] {
        with[name] = serde_json::Value::Null;
        without[name] = serde_json::Value::Null;
    }
    assert_eq!(with, without);
    let entry = head().append(blinded, Some(link(1)));
    assert_eq!(Entry::parse(entry.bytes()).unwrap(), entry);
    assert_eq!(json(&entry)["blind"], "salted");
    let mut withheld = plain;
    withheld.withhold();
    assert!(!withheld.has_values());
    let entry = head().append(withheld, None);
    assert_eq!(json(&entry)["blind"], "withheld");
    // What holds none of the three is not blinded.
    let mut start = Draft::new(Kind::Start, Time::from_micros(0));
    start.blind(&salt);
    start.withhold();
    assert_eq!(start.blind, Blinding::Plain);
    assert_eq!(
        format!("{salt:?} {salt}"),
        format!("Salt(not shown) {}", "07".repeat(32))
    );
    assert_eq!(salt.to_string().parse(), Ok(salt));
    for text in [
        "",
        "07",
        &"0G".repeat(32),
        &"07".repeat(33),
        &"0A".repeat(32),
    ] {
        assert_eq!(text.parse::<Salt>(), Err(MalformedSalt), "{text}");
    }
}

#[test]
fn a_receipt_carries_its_salt_and_reads_back() {
    let entry = head().append(full(Kind::Terminal), Some(link(1)));
    let mut receipt = Receipt::of(&entry).unwrap();
    let without = receipt.to_json();
    receipt.salt = Some(Salt::new([7; 32]));
    let with = receipt.to_json();
    assert_eq!(Receipt::parse(&with), Ok(receipt.clone()));
    assert!(receipt.agrees(&Receipt::parse(&without).unwrap()));
    assert_ne!(Receipt::parse(&without), Ok(receipt));
    let text = String::from_utf8(with).unwrap();
    for wrong in [
        text.replace("0707", "07"),
        text.replace("\"salt\"", "\"salts\""),
    ] {
        assert!(Receipt::parse(wrong.as_bytes()).is_err(), "{wrong}");
    }
}
