//! What each code shows of itself.

use std::collections::HashSet;

use super::*;
use crate::Revision;

#[test]
fn no_two_codes_share_a_text_or_a_number() {
    let texts: HashSet<_> = ErrorCode::all().map(ErrorCode::as_str).collect();
    let numbers: HashSet<_> = ErrorCode::all().map(ErrorCode::number).collect();
    assert_eq!(texts.len(), ErrorCode::all().count());
    for code in ErrorCode::all() {
        assert_eq!(ErrorCode::parse(code.as_str()), Some(code));
    }
    assert_eq!(ErrorCode::parse("replays"), None);
    assert_eq!(numbers.len(), ErrorCode::all().count());
}

/// Everything by which a code shows itself to a caller. With
/// `COUNTERSIGN_GOLDEN=write` in the environment the file is written anew.
#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "a switch for whoever changes what is said"
)]
fn a_code_travels_under_the_number_and_the_statuses_that_it_always_had() {
    let mut table = String::from("code\tnumber\twith sessions\twithout\tmessage\n");
    for code in ErrorCode::all() {
        let statuses = Revision::ALL.map(|revision| code.status(revision).as_u16());
        let [rest @ .., newest] = statuses;
        assert!(rest.iter().all(|status| *status == rest[0]), "{code}");
        table.push_str(&format!(
            "{code}\t{}\t{}\t{newest}\t{}\n",
            code.number(),
            rest[0],
            code.message()
        ));
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/codes.tsv");
    if std::env::var_os("COUNTERSIGN_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, &table).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    for (now, before) in table.lines().zip(golden.lines()) {
        assert_eq!(now, before);
    }
    assert_eq!(table.lines().count(), golden.lines().count());
}

#[test]
fn an_upstreams_error_has_a_status_of_its_own_only_where_the_newest_revision_says_so() {
    for revision in Revision::ALL {
        let newest = !revision.has_sessions();
        for (number, passed, called) in [
            (Some(-32_601), if newest { 404 } else { 200 }, 200),
            (
                Some(-32_021),
                if newest { 400 } else { 200 },
                if newest { 400 } else { 200 },
            ),
            (Some(-32_602), 200, 200),
            (None, 200, 200),
        ] {
            assert_eq!(passed_status(revision, number).as_u16(), passed);
            assert_eq!(called_status(revision, number).as_u16(), called);
        }
    }
}

#[test]
fn only_what_the_protocol_prescribes_lies_in_the_reserved_range() {
    let reserved: Vec<_> = ErrorCode::all()
        .filter(|code| (-32768..=-32000).contains(&code.number()))
        .map(ErrorCode::as_str)
        .collect();
    assert_eq!(
        reserved,
        [
            "header-mismatch",
            "unsupported-version",
            "missing-meta",
            "method-not-supported"
        ]
    );
}

#[test]
fn a_text_code_is_lower_case_words_joined_by_hyphens() {
    for code in ErrorCode::all() {
        assert!(
            code.as_str()
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b == b'-'),
            "{code}"
        );
        assert!(!code.message().ends_with('.'), "{code}");
    }
}

#[test]
fn only_fresh_and_continuation_go_past_classification() {
    for (classification, code) in [
        (Classification::Fresh, None),
        (Classification::Continuation, None),
        (Classification::InFlight, Some("in-flight")),
        (
            Classification::ContinuationMismatch,
            Some("continuation-mismatch"),
        ),
        (Classification::RoundReplay, Some("round-replay")),
        (
            Classification::Replay(countersign_canon::Outcome::Succeeded),
            Some("replay"),
        ),
        (Classification::Blocked, Some("blocked")),
        (
            Classification::Collision(countersign_canon::Difference::default()),
            Some("collision"),
        ),
        (Classification::Incomparable, Some("incomparable")),
    ] {
        assert_eq!(refused_as(classification).map(ErrorCode::as_str), code);
    }
}
