//! The golden vectors, as `vectors/README.md` describes them.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_canon::{Difference, Outcome, Presented, Recorded, RecordedState, Round};
use serde_json::Value;

/// The cases of one file, by the name of the subject.
#[must_use]
pub fn cases(subject: &str) -> Vec<Value> {
    let path = folder().join(format!("{subject}.json"));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut file: Value = serde_json::from_slice(&text).expect("a vector file is JSON");
    assert_eq!(file["version"], 1, "{subject}");
    match file["cases"].take() {
        Value::Array(cases) if !cases.is_empty() => cases,
        _ => panic!("{subject} has no cases"),
    }
}

/// The subjects of a kind, so that no file is forgotten.
#[must_use]
pub fn subjects(kind: &str) -> Vec<String> {
    let mut subjects: Vec<String> = std::fs::read_dir(folder())
        .expect("there are vectors")
        .map(|entry| entry.expect("it is readable").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .filter(|path| {
            let text = std::fs::read(path).expect("it is readable");
            let file: Value = serde_json::from_slice(&text).expect("a vector file is JSON");
            file["kind"] == kind
        })
        .map(|path| {
            path.file_stem()
                .expect("it has a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    subjects.sort();
    subjects
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors")
}

/// The bytes of a case's message or action.
#[must_use]
pub fn bytes(case: &Value, member: &str) -> Vec<u8> {
    if let Some(text) = case[member].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(encoded) = case[format!("{member}_base64")].as_str() {
        return STANDARD.decode(encoded).expect("base64");
    }
    let parts = case[format!("{member}_parts")]
        .as_array()
        .expect("a message of some form");
    parts.iter().flat_map(part).collect()
}

fn part(part: &Value) -> Vec<u8> {
    if let Some(text) = part.as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(encoded) = part["base64"].as_str() {
        return STANDARD.decode(encoded).expect("base64");
    }
    let times = part["times"].as_u64().expect("a repeated part");
    if let Some(text) = part["repeat"].as_str() {
        return text
            .repeat(usize::try_from(times).expect("few"))
            .into_bytes();
    }
    let (before, after) = (&part["numbered"][0], &part["numbered"][1]);
    let (before, after) = (
        before.as_str().expect("a text"),
        after.as_str().expect("a text"),
    );
    (0..times)
        .flat_map(|n| format!("{before}{n}{after}").into_bytes())
        .collect()
}

/// What must come out under a profile.
#[must_use]
pub fn expected<'v>(case: &'v Value, profile: &str) -> &'v Value {
    let expect = &case["expect"];
    let own = &expect[profile];
    if own.is_null() { &expect["*"] } else { own }
}

/// What `classify` is asked in a case.
#[must_use]
pub fn presented(case: &Value) -> Presented<'_> {
    let presented = &case["presented"];
    Presented {
        profile: text(&presented["profile"]),
        binding: text(&presented["binding"]),
        target: text(&presented["target"]),
        round: presented["round"].as_object().map(|round| Round {
            continuation: text(&round["continuation"]),
            request_state: either(round, ["request_state", "request-state"]),
        }),
    }
}

/// The digests of the continuations claimed so far, in a case's record.
#[must_use]
pub fn claimed(case: &Value) -> Vec<&str> {
    let claimed = case["recorded"]["claimed"].as_array();
    claimed.into_iter().flatten().map(text).collect()
}

/// The record of a case, if it has one.
#[must_use]
pub fn recorded<'v>(case: &'v Value, claimed: &'v [&'v str]) -> Option<Recorded<'v>> {
    let recorded = case["recorded"].as_object()?;
    Some(Recorded {
        profile: text(&recorded["profile"]),
        binding: text(&recorded["binding"]),
        target: text(&recorded["target"]),
        state: state(&recorded["state"]),
        claimed,
    })
}

fn state(state: &Value) -> RecordedState<'_> {
    match state.as_str() {
        Some("in-flight") => return RecordedState::InFlight,
        Some("task-open") => return RecordedState::TaskOpen,
        Some("blocked") => return RecordedState::Blocked,
        _ => {}
    }
    let object = state.as_object().expect("a state of some form");
    match object.get("settled") {
        Some(outcome) => RecordedState::Settled(self::outcome(text(outcome))),
        None => RecordedState::AwaitingInput(state["awaiting-input"].as_str()),
    }
}

/// A verdict as the vectors write it.
#[must_use]
pub fn verdict(verdict: countersign_canon::Classification) -> Value {
    use countersign_canon::Classification as Verdict;
    match verdict {
        Verdict::Fresh => "fresh".into(),
        Verdict::InFlight => "in-flight".into(),
        Verdict::Continuation => "continuation".into(),
        Verdict::ContinuationMismatch => "continuation-mismatch".into(),
        Verdict::RoundReplay => "round-replay".into(),
        Verdict::Blocked => "blocked".into(),
        Verdict::Incomparable => "incomparable".into(),
        Verdict::Replay(outcome) => {
            let name = OUTCOMES
                .iter()
                .find(|(_, known)| *known == outcome)
                .map(|(name, _)| *name);
            serde_json::json!({ "replay": name })
        }
        Verdict::Collision(Difference { binding, target }) => {
            let names = [("binding", binding), ("target", target)];
            let names: Vec<_> = names
                .iter()
                .filter(|(_, set)| *set)
                .map(|(name, _)| *name)
                .collect();
            serde_json::json!({ "collision": names })
        }
    }
}

const OUTCOMES: [(&str, Outcome); 5] = [
    ("succeeded", Outcome::Succeeded),
    ("tool-error", Outcome::ToolError),
    ("upstream-error", Outcome::UpstreamError),
    ("not-attempted", Outcome::NotAttempted),
    ("outcome-unknown", Outcome::OutcomeUnknown),
];

fn outcome(name: &str) -> Outcome {
    OUTCOMES
        .iter()
        .find(|(known, _)| *known == name)
        .expect("an outcome")
        .1
}

fn either<'v>(object: &'v serde_json::Map<String, Value>, names: [&str; 2]) -> Option<&'v str> {
    names.iter().find_map(|name| object.get(*name)?.as_str())
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}
