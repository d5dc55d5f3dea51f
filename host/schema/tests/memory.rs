//! Where arguments do not fit is found without a copy of the place for each way
//! in which they do not.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use support::{schema, view};

const DIALECTS: [&str; 4] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
];
/// What finding out may take, in KiB.
const MOST: usize = 24 << 10;

/// The most memory that this process has had, in KiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.unwrap().split_whitespace().nth(1);
    number.unwrap().parse().unwrap()
}

#[test]
fn no_place_is_copied_for_each_way_in_which_a_value_does_not_fit() {
    let name = "n".repeat(100_000);
    let texts = vec![r#""""#; 1_000].join(",");
    let long = format!(r#"{{"a":{{"{name}":[{texts}]}}}}"#);
    let many = format!(r#"{{"a":[{}]}}"#, vec!["7"; 20_000].join(","));
    let integers = r#"{"type":"array","items":{"type":"integer"}}"#;
    let null = r#"{"type":"null"}"#;
    let few = [null; 12].join(",");
    let each = |of: &str| format!(r#"{{"additionalProperties":{of}}}"#);
    for (of, arguments, pointer, keyword) in [
        (
            each(&format!(r#"{{"anyOf":[{integers},{null}]}}"#)),
            &long,
            "/arguments/a/nnn",
            "anyOf",
        ),
        (
            each(&format!(r#"{{"oneOf":[{integers},{null}]}}"#)),
            &long,
            "/arguments/a/nnn",
            "oneOf",
        ),
        (
            each(&format!(r#"{{"oneOf":[{integers}]}}"#)),
            &long,
            "/arguments/a/nnn",
            "oneOf",
        ),
        (
            each(&format!(
                r#"{{"anyOf":[{integers},{null}],"oneOf":[true]}}"#
            )),
            &long,
            "/arguments/a/nnn",
            "anyOf",
        ),
        (
            each(&format!(
                r#"{{"then":false,"allOf":[true],"oneOf":[{integers},{null}],"anyOf":[true]}}"#
            )),
            &long,
            "/arguments/a/nnn",
            "oneOf",
        ),
        (
            each(&format!(
                r#"{{"allOf":[{{"oneOf":[{{"anyOf":[{integers}]}},{null}]}}]}}"#
            )),
            &long,
            "/arguments/a/nnn",
            "oneOf",
        ),
        (
            format!(r#"{{"anyOf":[{{"items":{{"anyOf":[{few}]}}}},{null}]}}"#),
            &many,
            "/arguments/a",
            "anyOf",
        ),
        (
            r##"{"$ref":"#/definitions/list"}"##.to_owned(),
            &many,
            "/arguments/a",
            "anyOf",
        ),
        (
            r##"{"$ref":"#/definitions/list/anyOf/0"}"##.to_owned(),
            &many,
            "/arguments/a/0",
            "anyOf",
        ),
        (
            r#"{"propertyNames":{"anyOf":[{"maxLength":3},{"const":"x"}]}}"#.to_owned(),
            &long,
            "/arguments/a",
            "anyOf",
        ),
    ] {
        let list =
            format!(r#"{{"anyOf":[{{"type":"array","items":{{"anyOf":[{few}]}}}},{null}]}}"#);
        for dialect in DIALECTS {
            let schema = schema(&format!(
                r#"{{"$schema":"{dialect}","properties":{{"a":{of}}},"definitions":{{"list":{list}}}}}"#
            ));
            let view = view(Some(arguments));
            let before = peak();
            let misfit = schema.check(&view).unwrap_err();
            let taken = peak() - before;
            assert!(taken < MOST, "{taken} KiB: {dialect} {of}");
            if dialect == DIALECTS[3] {
                let told = (misfit.pointer.as_str(), misfit.keyword.as_str());
                assert_eq!(told, ("/arguments", "schema"), "{of}");
            } else {
                assert!(misfit.pointer.starts_with(pointer), "{misfit}: {of}");
                assert_eq!(misfit.keyword, keyword, "{dialect} {of}");
            }
        }
    }
}
