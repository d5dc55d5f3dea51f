//! What a gateway may write and sign, one sentence for each thing that it may
//! not: what is said against it, or what is left open.

use countersign_verifier::{Claim, Report};
use serde_json::{Value, json};

use super::lies::values;
use super::table::{Table, rewrite};
use crate::world::{Export, World, digest};

/// What is said of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Against,
    Open,
    Nothing,
}

use Claim::{Admission, Attribution, Classification, Decision, Integrity, Ordering, Outcome};
use Says::{Against, Nothing, Open};

fn says(report: &Report, claim: Claim, reason: &str) -> Says {
    let found = report.claims.iter().find(|found| found.claim == claim);
    let found = found.unwrap();
    if found
        .contradictions
        .iter()
        .any(|f| f.reason.contains(reason))
    {
        Against
    } else if found.gaps.iter().any(|f| f.reason.contains(reason)) {
        Open
    } else {
        Nothing
    }
}

fn lie() -> Value {
    digest("lie").as_str().into()
}

/// The first entry of a kind, of the execution that has one attempt alone.
fn of<'e>(all: &'e mut [Value], kind: &str) -> &'e mut Value {
    let once = |e: &Value| e["kind"] == kind && e["execution_id"] == "e-6";
    all.iter_mut().find(|entry| once(entry)).unwrap()
}

fn first<'e>(all: &'e mut [Value], kind: &str) -> &'e mut Value {
    all.iter_mut().find(|entry| entry["kind"] == kind).unwrap()
}

/// The first refusal with a code.
fn refused<'e>(all: &'e mut [Value], code: &str) -> &'e mut Value {
    all.iter_mut().find(|e| e["refusal"] == code).unwrap()
}

type Write = fn(&mut Vec<Value>);
type Row = (&'static str, Write, Claim, Says, &'static str);

fn check(name: &'static str, rows: &[Row]) {
    let world = World::full();
    let export = Export::of(&world);
    let mut table = Table::new(name);
    for (what, write, claim, expected, reason) in rows {
        let mut all = values(&export.lines);
        write(&mut all);
        for (at, entry) in all.iter_mut().enumerate() {
            entry["sequence"] = at.into();
        }
        let row = format!("signed: {what}");
        let report = table.check(&row, &rewrite(&export, all), &world.inputs());
        assert_eq!(
            says(&report, *claim, reason),
            *expected,
            "{what}: {}",
            report.to_text(&"all".parse().unwrap())
        );
    }
}

#[test]
fn a_call_goes_by_what_came_into_force_before_it_and_by_nothing_else() {
    check(
        "signed-attribution",
        &[
            (
                "other policies came into force",
                |all| first(all, "policy-loaded")["policy_digest"] = lie(),
                Attribution,
                Against,
                "it was not decided by the policies in force",
            ),
            (
                "another component was loaded",
                |all| first(all, "profile-loaded")["component"] = lie(),
                Attribution,
                Against,
                "its component is not one that was loaded as",
            ),
            (
                "the catalog was approved for another place",
                |all| first(all, "catalog-approved")["server_digest"] = lie(),
                Attribution,
                Against,
                "its tool was approved for a server at another place",
            ),
            (
                "the catalog was withdrawn",
                |all| {
                    let mut withdrawn = first(all, "catalog-approved").clone();
                    withdrawn["catalog"]["approved"] = Value::Null;
                    all.insert(4, withdrawn);
                },
                Attribution,
                Against,
                "what was approved of its server had been withdrawn",
            ),
        ],
    );
}

#[test]
fn an_attempt_went_on_as_was_decided_and_is_decided_so_again() {
    let again = "; decided again it is `";
    check(
        "signed-decision",
        &[
            (
                "a denial that was permitted",
                |all| of(all, "admission")["decision"]["allow"] = false.into(),
                Decision,
                Against,
                "it was permitted and denied",
            ),
            (
                "a denial that was only observed",
                |all| {
                    let decision = &mut of(all, "admission")["decision"];
                    decision["allow"] = false.into();
                    decision["reason"] = "observed-forbidden".into();
                },
                Decision,
                Nothing,
                "it was permitted and denied",
            ),
            (
                "a permission that was denied",
                |all| refused(all, "policy-denied")["decision"]["allow"] = true.into(),
                Decision,
                Against,
                "it was denied and allowed",
            ),
            (
                "a permission without a decision",
                |all| of(all, "admission")["decision"] = Value::Null,
                Decision,
                Open,
                "what was decided about it is not recorded",
            ),
            (
                "a denial without a decision",
                |all| refused(all, "policy-denied")["decision"] = Value::Null,
                Decision,
                Open,
                "what was decided about it is not recorded",
            ),
            (
                "a decision that allows less",
                |all| of(all, "admission")["decision"]["allow"] = false.into(),
                Decision,
                Against,
                again,
            ),
            (
                "a decision for another reason",
                |all| of(all, "admission")["decision"]["reason"] = "lie".into(),
                Decision,
                Against,
                again,
            ),
            (
                "a decision by another policy",
                |all| of(all, "admission")["decision"]["determining"] = json!(["lie"]),
                Decision,
                Against,
                again,
            ),
        ],
    );
}

#[test]
fn what_an_attempt_was_told_fits_its_code_its_round_and_its_state() {
    check(
        "signed-codes",
        &[
            (
                "a refusal without a code",
                |all| refused(all, "replay")["refusal"] = Value::Null,
                Classification,
                Against,
                "a refusal has no code",
            ),
            (
                "a replay under another code",
                |all| refused(all, "replay")["refusal"] = "policy-denied".into(),
                Classification,
                Against,
                "it is `replay` and was refused with `policy-denied`",
            ),
            (
                "a permission with a code",
                |all| of(all, "admission")["refusal"] = "policy-denied".into(),
                Classification,
                Against,
                "it was permitted and refused with `policy-denied`",
            ),
            (
                "a round without a number",
                |all| first(all, "round")["round"] = Value::Null,
                Classification,
                Against,
                "only a round has a number, and each has one",
            ),
            (
                "an admission with a number",
                |all| of(all, "admission")["round"] = json!({"number": 1, "says": "asked"}),
                Classification,
                Against,
                "only a round has a number, and each has one",
            ),
            (
                "a state without a continuation",
                |all| refused(all, "replay")["request_state_presented"] = lie(),
                Classification,
                Against,
                "it presents a state and is no continuation",
            ),
        ],
    );
}

#[test]
fn an_entry_repeats_what_was_reserved_and_names_who_stated_an_outcome() {
    let reserved = "it names another profile, component, binding or target than was reserved";
    let stated = "a resolution names no outcome, or nobody who stated it";
    check(
        "signed-reserved",
        &[
            (
                "another profile than was reserved",
                |all| of(all, "terminal")["profile"] = "exact@1.0.1".into(),
                Ordering,
                Against,
                reserved,
            ),
            (
                "another component than was reserved",
                |all| of(all, "terminal")["component"] = lie(),
                Ordering,
                Against,
                reserved,
            ),
            (
                "another binding than was reserved",
                |all| of(all, "terminal")["binding"] = lie(),
                Ordering,
                Against,
                reserved,
            ),
            (
                "another target than was reserved",
                |all| of(all, "terminal")["tool"] = "balance".into(),
                Ordering,
                Against,
                reserved,
            ),
            (
                "another call than was permitted",
                |all| of(all, "terminal")["call_id"] = "lie".into(),
                Ordering,
                Against,
                "it names a call that was not permitted to invoke",
            ),
            (
                "a resolution by nobody",
                |all| first(all, "resolution")["resolution"] = Value::Null,
                Outcome,
                Against,
                stated,
            ),
            (
                "a resolution without an outcome",
                |all| first(all, "resolution")["outcome"] = Value::Null,
                Outcome,
                Against,
                stated,
            ),
        ],
    );
}

#[test]
fn an_entry_says_of_its_client_and_of_its_blinding_what_its_members_show() {
    check(
        "signed-members",
        &[
            (
                "a client context of another digest",
                |all| of(all, "admission")["client"] = "{}".into(),
                Admission,
                Against,
                "its client context does not have the digest that it gives",
            ),
            (
                "a client context that is left out",
                |all| of(all, "admission")["client_digest"] = Value::Null,
                Admission,
                Nothing,
                "has its binding, and another `client_digest`",
            ),
            (
                "blinded without a row",
                |all| all[0]["blind"] = "salted".into(),
                Integrity,
                Against,
                "it is blinded, and no row is there that could keep its salt",
            ),
            (
                "blinded without a value",
                |all| {
                    let entry = of(all, "terminal");
                    entry["blind"] = "salted".into();
                    entry["binding"] = Value::Null;
                    entry["answer_digest"] = Value::Null;
                },
                Integrity,
                Against,
                "it is blinded, and holds nothing that is",
            ),
            (
                "left out with a row",
                |all| of(all, "admission")["blind"] = "withheld".into(),
                Integrity,
                Against,
                "it leaves out what its row could have blinded",
            ),
            (
                "left out and written all the same",
                |all| refused(all, "policy-denied")["blind"] = "withheld".into(),
                Integrity,
                Against,
                "it leaves out what stands in it",
            ),
        ],
    );
}
