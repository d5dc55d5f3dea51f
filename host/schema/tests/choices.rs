//! An `anyOf` and a `oneOf` mean what they say beside every other keyword,
//! wherever references lead into them, and are named where they do not hold.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use support::{schema, view};

const DIALECTS: [&str; 4] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
];

#[test]
fn a_choice_means_the_same_beside_every_other_keyword() {
    let a = r#"{"properties":{"a":{"type":"integer"}},"required":["a"]}"#;
    let b = r#"{"properties":{"b":{"type":"integer"}},"required":["b"]}"#;
    let many: String = (0..20).map(|n| format!(r#","x-{n}":0"#)).collect();
    let asks = r#""unevaluatedProperties":false"#;
    let asks_items = r#""unevaluatedItems":false"#;
    for (of, dialects, good, bad) in [
        (
            format!(r#""anyOf":[{a},{b}]"#),
            4,
            vec![r#"{"a":1}"#, r#"{"b":1}"#, r#"{"a":1,"b":"x"}"#, r#"{"a":1,"b":2}"#],
            vec![("{}", "anyOf"), (r#"{"a":"x"}"#, "anyOf")],
        ),
        (
            format!(r#""oneOf":[{a},{b}]"#),
            4,
            vec![r#"{"a":1}"#, r#"{"a":1,"b":"x"}"#],
            vec![("{}", "oneOf"), (r#"{"a":1,"b":2}"#, "oneOf")],
        ),
        (
            format!(r#""oneOf":[{a},{b}],"anyOf":[{{"minProperties":2}},{{"maxProperties":0}}]"#),
            4,
            vec![r#"{"a":1,"c":2}"#],
            vec![(r#"{"a":1}"#, "anyOf"), ("{}", "oneOf"), (r#"{"c":1,"d":2}"#, "oneOf")],
        ),
        (
            format!(r#""anyOf":[{a},{b}],"allOf":[{{"maxProperties":1}}]"#),
            4,
            vec![r#"{"a":1}"#],
            vec![(r#"{"a":1,"b":2}"#, "maxProperties"), ("{}", "anyOf")],
        ),
        (
            format!(r#""anyOf":[{a},{b}],"if":{{"required":["b"]}},"then":{{"required":["c"]}},"else":{{"maxProperties":1}}"#),
            3,
            vec![r#"{"a":1}"#, r#"{"b":1,"c":1}"#],
            vec![
                (r#"{"b":1}"#, "required"),
                (r#"{"a":1,"c":1}"#, "maxProperties"),
                (r#"{"c":1}"#, "anyOf"),
            ],
        ),
        // Without a condition these two say nothing.
        (
            format!(r#""anyOf":[{a},{b}],"then":false,"else":false"#),
            4,
            vec![r#"{"a":1}"#],
            vec![("{}", "anyOf")],
        ),
        (
            format!(r#""anyOf":[{a},{b}],{asks}"#),
            2,
            vec![r#"{"a":1}"#, r#"{"a":1,"b":1}"#],
            vec![
                (r#"{"a":1,"c":1}"#, "unevaluatedProperties"),
                (r#"{"a":1,"b":"x"}"#, "unevaluatedProperties"),
                (r#"{"c":1}"#, "anyOf"),
            ],
        ),
        (
            format!(r#""oneOf":[{a},{b}],"anyOf":[{{"properties":{{"c":true}}}}],"then":true,{asks}"#),
            2,
            vec![r#"{"a":1}"#, r#"{"a":1,"c":7}"#],
            vec![(r#"{"a":1,"d":1}"#, "unevaluatedProperties"), (r#"{"c":1}"#, "oneOf")],
        ),
        (
            format!(r#""allOf":[{{"anyOf":[{a},{{"oneOf":[{b}]}}]}}],{asks}"#),
            2,
            vec![r#"{"a":1}"#, r#"{"b":1}"#, r#"{"a":1,"b":1}"#],
            vec![(r#"{"b":1,"c":1}"#, "unevaluatedProperties"), ("{}", "anyOf")],
        ),
        (
            format!(r#""anyOf":[{{"prefixItems":[true]}},{{"items":false}}],{asks_items}"#),
            1,
            vec!["[]", "[1]"],
            vec![("[1,2]", "unevaluatedItems")],
        ),
        (
            r#""anyOf":[{"anyOf":[{"anyOf":[{"const":1}]},{"oneOf":[{"const":2},{"const":2}]}]},{"const":3}]"#.to_owned(),
            4,
            vec!["1", "3"],
            vec![("2", "anyOf"), ("4", "anyOf")],
        ),
        // Ours are no keywords of theirs.
        (
            r#""$countersign-not-anyOf":true,"$countersign-not-oneOf":true,"anyOf":[{"const":1}]"#.to_owned(),
            4,
            vec!["1"],
            vec![("2", "anyOf")],
        ),
    ] {
        for dialect in DIALECTS.iter().take(dialects) {
            for more in ["", &many] {
                let of = format!(r#"{{{of}{more}}}"#);
                // As it stands, and where a reference leads to it, from a choice too.
                for (at, chosen) in [
                    (of.clone(), false),
                    (r##"{"$ref":"#/definitions/x"}"##.to_owned(), false),
                    (r##"{"oneOf":[{"$ref":"#/definitions/x"}]}"##.to_owned(), true),
                ] {
                    let text = format!(
                        r#"{{"$schema":"{dialect}","properties":{{"n":{at}}},"definitions":{{"x":{of}}}}}"#
                    );
                    let schema = schema(&text);
                    let check = |value: &str| {
                        let misfit = schema.check(&view(Some(&format!(r#"{{"n":{value}}}"#))));
                        misfit.map_err(|misfit| misfit.keyword)
                    };
                    for value in &good {
                        assert_eq!(check(value), Ok(()), "{value}: {text}");
                    }
                    for (value, keyword) in &bad {
                        let keyword = match chosen {
                            _ if *dialect == DIALECTS[3] => "schema",
                            true => "oneOf",
                            false => keyword,
                        };
                        assert_eq!(check(value), Err(keyword.to_owned()), "{value}: {text}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_reference_into_a_choice_leads_to_its_way() {
    let ways = r#"[{"type":"string"},{"type":"integer"}]"#;
    for choice in ["anyOf", "oneOf"] {
        let other = if choice == "anyOf" { "oneOf" } else { "anyOf" };
        for beside in [
            "",
            r#","allOf":[true,{"title":"x"}]"#,
            r#","if":true"#,
            r#","then":true"#,
            &format!(r#","{other}":[true]"#),
            &format!(r#","{other}":[true],"allOf":[true]"#),
        ] {
            for dialect in DIALECTS {
                let named =
                    format!(r#"{{"properties":{{"{choice}":{{"{choice}":{ways}{beside}}}}}}}"#);
                let text = format!(
                    r##"{{"$schema":"{dialect}","properties":{{"n":{{"$ref":"#/definitions/x/properties/{choice}/{choice}/1"}}}},"definitions":{{"x":{named}}}}}"##
                );
                let schema = schema(&text);
                let takes = |value| support::takes(&schema, value);
                assert!(takes(r#"{"n":1}"#) && !takes(r#"{"n":"x"}"#), "{text}");
            }
        }
    }
}
