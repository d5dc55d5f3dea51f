//! Every golden vector, natively and in the released components.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking, in what they share too"
)]

use countersign_canon::{
    Admitted, Classification, Interpretation, Limits, Numbers, Presented, ProfileId, Recorded,
    Refusal, admit, classify, envelop, interpret,
};
use countersign_engine::{Engine, Profile, Profiles, Settings, embedded};
use countersign_policy::Number;
use countersign_tests::outcome::{self, Length};
use countersign_tests::vectors::{self, bytes, cases, expected, subjects};
use serde_json::{Value, json};

/// One way to read messages, under one profile.
trait Reader {
    fn profile(&self) -> &ProfileId;
    fn admit(&self, message: &[u8]) -> Result<Admitted, Refusal>;
    fn interpret(&self, action: &[u8]) -> Result<Interpretation, Refusal>;
    fn classify(
        &self,
        presented: &Presented<'_>,
        recorded: Option<&Recorded<'_>>,
    ) -> Classification;
}

struct Native(ProfileId, Numbers);

impl Reader for Native {
    fn profile(&self) -> &ProfileId {
        &self.0
    }
    fn admit(&self, message: &[u8]) -> Result<Admitted, Refusal> {
        admit(self.1, message)
    }
    fn interpret(&self, action: &[u8]) -> Result<Interpretation, Refusal> {
        interpret(&self.0, self.1, action)
    }
    fn classify(
        &self,
        presented: &Presented<'_>,
        recorded: Option<&Recorded<'_>>,
    ) -> Classification {
        classify(presented, recorded)
    }
}

struct Wasm(Profile);

impl Reader for Wasm {
    fn profile(&self) -> &ProfileId {
        self.0.id()
    }
    fn admit(&self, message: &[u8]) -> Result<Admitted, Refusal> {
        self.0.admit(message).unwrap()
    }
    fn interpret(&self, action: &[u8]) -> Result<Interpretation, Refusal> {
        self.0
            .interpret(action)
            .unwrap()
            .map(|meaning| Interpretation {
                binding: meaning.binding,
                tool: meaning.tool,
                view: meaning.view.nodes().to_vec(),
            })
    }
    fn classify(
        &self,
        presented: &Presented<'_>,
        recorded: Option<&Recorded<'_>>,
    ) -> Classification {
        self.0.classify(presented, recorded).unwrap()
    }
}

fn profiles() -> Profiles {
    Profiles::embedded(
        &Engine::new(&Settings {
            slots: 2,
            cache: None,
        })
        .unwrap(),
    )
    .unwrap()
}

fn readers() -> Vec<Box<dyn Reader>> {
    let profiles = profiles();
    let mut readers: Vec<Box<dyn Reader>> = vec![
        Box::new(Native("exact@1.0.0".parse().unwrap(), Numbers::AsWritten)),
        Box::new(Native(
            "jcs-integer@1.0.0".parse().unwrap(),
            Numbers::SafeIntegers,
        )),
    ];
    for profile in profiles.iter() {
        readers.push(Box::new(Wasm(profile.clone())));
    }
    assert_eq!(readers.len(), 4);
    readers
}

#[test]
fn every_message_is_admitted_or_refused_as_its_vector_says() {
    let readers = readers();
    let mut run = 0;
    for subject in subjects("admit") {
        for case in cases(&subject) {
            for reader in &readers {
                let name = format!("{subject}, {}, {}", case["name"], reader.profile());
                admit_case(reader.as_ref(), &case, &name);
                run += 1;
            }
        }
    }
    assert!(run > 3_000, "{run}");
}

fn admit_case(reader: &dyn Reader, case: &Value, name: &str) {
    let profile = reader.profile();
    let said = reader.admit(&bytes(case, "message"));
    let written = outcome::to_json(profile, &said, Length::Digested);
    assert_eq!(&written, expected(case, profile.as_str()), "{name}");
    let Ok(Admitted::Call(call)) = said else {
        return;
    };
    let digests = &case["digests"][profile.as_str()];
    if !digests.is_null() {
        assert_eq!(&outcome::digests(profile, &call), digests, "{name}");
    }
    let meaning = reader.interpret(&call.action).unwrap();
    assert_eq!(
        written["call"]["binding"],
        meaning.binding.as_str(),
        "{name}"
    );
    let again = reader.admit(&envelop(&call.action).unwrap());
    assert!(
        matches!(&again, Ok(Admitted::Call(again)) if again.action == call.action),
        "{name}: the envelope of its action gives another"
    );
}

#[test]
fn every_action_means_what_its_vector_says() {
    let readers = readers();
    for subject in subjects("interpret") {
        for case in cases(&subject) {
            for reader in &readers {
                let said = reader.interpret(&bytes(&case, "action"));
                let expected = expected(&case, reader.profile().as_str());
                let name = format!("{subject}, {}, {}", case["name"], reader.profile());
                assert_eq!(&outcome::view_to_json(&said), expected, "{name}");
            }
        }
    }
}

#[test]
fn every_attempt_is_classified_as_its_vector_says() {
    let readers = readers();
    for subject in subjects("classify") {
        for case in cases(&subject) {
            let claimed = vectors::claimed(&case);
            let (presented, recorded) = (
                vectors::presented(&case),
                vectors::recorded(&case, &claimed),
            );
            for reader in &readers {
                let said = reader.classify(&presented, recorded.as_ref());
                assert_eq!(vectors::verdict(said), case["expect"], "{}", case["name"]);
            }
        }
    }
}

#[test]
fn every_number_has_the_floor_ceiling_and_decimal_of_its_vector() {
    for subject in subjects("numbers") {
        for case in cases(&subject) {
            let number = Number::of(case["lexeme"].as_str().unwrap()).unwrap();
            assert_eq!(number.floor.to_string(), case["floor"], "{case}");
            assert_eq!(number.ceil.to_string(), case["ceil"], "{case}");
            assert_eq!(json!(number.decimal), case["decimal"], "{case}");
        }
    }
}

#[test]
fn the_relation_of_every_pair_holds() {
    let readers = readers();
    for subject in subjects("equivalence") {
        for case in cases(&subject) {
            for reader in &readers {
                let name = format!("{}, {}", case["id"], reader.profile());
                let [a, b] = ["a", "b"].map(|side| side_of(reader.as_ref(), &case[side], &name));
                let both = a.is_some() && b.is_some();
                match case["relation"].as_str().unwrap() {
                    "must-bind-equal" => assert!(!both || a == b, "{name}"),
                    "must-not-bind-equal" | "either-refuse-or-distinct" => {
                        assert!(!both || a != b, "{name}");
                    }
                    "must-refuse" => assert!(!both, "{name}"),
                    other => panic!("{name}: the relation `{other}`"),
                }
            }
        }
    }
}

/// The binding of one side, if it is admitted, which it is where it must be.
fn side_of(reader: &dyn Reader, side: &Value, name: &str) -> Option<String> {
    let profile = reader.profile();
    let said = reader.admit(&bytes(side, "message"));
    let written = outcome::to_json(profile, &said, Length::Digested);
    let expected = expected(side, profile.as_str());
    let binding = written["call"]["binding"].as_str().map(ToOwned::to_owned);
    match &binding {
        Some(binding) => assert_eq!(&expected["binding"], binding.as_str(), "{name}"),
        None => assert_eq!(expected["refused"], written["refused"], "{name}"),
    }
    let refused_for = written["refused"]["code"].as_str();
    match side["admit"].as_str().unwrap() {
        "must" => assert!(binding.is_some() || refused_for == Some("number"), "{name}"),
        "must-not" => assert!(binding.is_none(), "{name}"),
        _ => {}
    }
    binding
}

#[test]
fn the_shipped_profiles_are_those_of_the_vectors_with_their_limits() {
    let profiles = profiles();
    for subject in subjects("describe") {
        let cases = cases(&subject);
        assert_eq!(cases.len(), embedded::all().len());
        for case in cases {
            let id: ProfileId = case["name"].as_str().unwrap().parse().unwrap();
            let Limits {
                message_bytes,
                depth,
                number_bytes,
                nodes,
            } = profiles.get(&id).unwrap().limits();
            let limits = json!({
                "message_bytes": message_bytes,
                "depth": depth,
                "number_bytes": number_bytes,
                "nodes": nodes,
            });
            assert_eq!(limits, case["limits"]);
        }
    }
}
