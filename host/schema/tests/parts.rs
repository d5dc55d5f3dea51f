//! No part of a schema says what it is, and a reference means what stands
//! where it leads.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use countersign_schema::{InputSchema, Reason};
use support::{schema, takes};

/// Where a part may stand: the keyword, what leads to the part from there, and
/// what stands around it. The last ones are keywords of no dialect.
const PLACES: [(&str, &str, &str); 24] = [
    ("additionalItems", "", "$"),
    ("additionalProperties", "", "$"),
    ("contains", "", "$"),
    ("contentSchema", "", "$"),
    ("if", "", "$"),
    ("then", "", "$"),
    ("else", "", "$"),
    ("items", "", "$"),
    ("not", "", "$"),
    ("propertyNames", "", "$"),
    ("unevaluatedItems", "", "$"),
    ("unevaluatedProperties", "", "$"),
    ("allOf", "/0", "[$]"),
    ("anyOf", "/1", "[true,$]"),
    ("oneOf", "/0", "[$]"),
    ("prefixItems", "/0", "[$]"),
    ("$defs", "/p", r#"{"p":$}"#),
    ("definitions", "/default", r#"{"default":$}"#),
    ("dependencies", "/p", r#"{"p":$}"#),
    ("dependentSchemas", "/p", r#"{"p":$}"#),
    ("patternProperties", "/p", r#"{"p":$}"#),
    ("properties", "/enum", r#"{"enum":$}"#),
    ("x-part", "", "$"),
    ("x-parts", "/a/0", r#"{"a":[$]}"#),
];

const DIALECTS: [&str; 4] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
];

fn refused(text: &str) -> Option<Reason> {
    let compiled = InputSchema::compile(Some(text.as_bytes()));
    compiled.err().map(|refused| refused.reason)
}

/// A schema in whose unused property a part stands.
fn holding(dialect: &str, keyword: &str, around: &str, part: &str, n: &str, more: &str) -> String {
    let part = around.replace('$', part);
    format!(
        r#"{{"$schema":"{dialect}","properties":{{"n":{n},"unused":{{"{keyword}":{part}}}}}{more}}}"#
    )
}

#[test]
fn a_part_that_says_what_it_is_is_refused_wherever_it_stands() {
    let mut own: Vec<(String, Reason)> = [
        r#""$id":"http://x/""#,
        r##""$id":"#a""##,
        r#""$anchor":"a""#,
        r#""$dynamicAnchor":"a""#,
    ]
    .map(|own| (own.to_owned(), Reason::Reference))
    .into();
    for dialect in DIALECTS.into_iter().chain([
        "http://json-schema.org/draft-04/schema#",
        "https://example.com/mine",
    ]) {
        own.push((format!(r#""$schema":"{dialect}""#), Reason::Dialect));
    }
    for dialect in DIALECTS {
        for (keyword, _, around) in PLACES {
            for (own, reason) in &own {
                let part = format!(r#"{{{own},"maximum":1000}}"#);
                let text = holding(dialect, keyword, around, &part, "true", "");
                // What says no more than the whole does is said twice and harmless.
                let same = own.contains(&format!("\"{dialect}\""));
                let expected = (!same).then_some(*reason);
                assert_eq!(refused(&text), expected, "{text}");
            }
        }
    }
}

#[test]
fn a_dialect_within_does_not_take_a_keyword_out_of_force() {
    let own = r##"{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/$defs/n","maximum":1000}"##;
    let text =
        format!(r#"{{"properties":{{"amount":{own}}},"$defs":{{"n":{{"type":"number"}}}}}}"#);
    assert_eq!(refused(&text), Some(Reason::Dialect));
}

#[test]
fn a_reference_into_any_part_is_as_if_the_part_stood_there() {
    // So many members that what holds them is counted, and stands elsewhere then.
    let many: String = (0..20).map(|n| format!(r#","x-{n}":0"#)).collect();
    let ways = PLACES
        .into_iter()
        .flat_map(|place| [(place, ""), (place, &*many)]);
    let ways: Vec<_> = ways.collect();
    for dialect in DIALECTS {
        for ((keyword, path, around), more) in &ways {
            let n = format!(r##"{{"$ref":"#/properties/unused/{keyword}{path}"}}"##);
            // Another schema has the same name where the part stands.
            let part =
                format!(r##"{{"$ref":"#/$defs/n","$defs":{{"n":{{"type":"string"}}}}{more}}}"##);
            let defs = format!(r#","$defs":{{"n":{{"type":"integer","maximum":5{more}}}}}{more}"#);
            let referred = schema(&holding(dialect, keyword, around, &part, &n, &defs));
            let inlined = r#"{"type":"integer","maximum":5}"#;
            let inlined = schema(&holding(dialect, keyword, around, "true", inlined, ""));
            for value in ["3", "5", "6", "3.5", "\"x\"", "null"] {
                let arguments = format!(r#"{{"n":{value}}}"#);
                assert_eq!(
                    takes(&referred, &arguments),
                    takes(&inlined, &arguments),
                    "{dialect} {keyword} {value}"
                );
            }
        }
    }
}

#[test]
fn what_a_part_costs_is_counted_wherever_it_stands() {
    let levels = |of: &str, count: usize| {
        let levels: Vec<String> = (0..count)
            .map(|level| {
                of.replace("LEVEL", &level.to_string())
                    .replace("NEXT", &(level + 1).to_string())
            })
            .collect();
        format!(r#"{},"a{count}":{{}}"#, levels.join(","))
    };
    for (keyword, path, around) in PLACES {
        let at = format!("#/properties/unused/{keyword}{path}/$defs/");
        let both = format!(
            r#""aLEVEL":{{"allOf":[{{"$ref":"{at}aNEXT"}},{{"$ref":"{at}aNEXT","minLength":0}}]}}"#
        );
        let cycle = format!(r#""a0":{{"allOf":[{{"$ref":"{at}a0"}}]}}"#);
        for (defs, reason) in [(levels(&both, 31), Reason::Cost), (cycle, Reason::Cycle)] {
            let part = format!(r#"{{"$defs":{{{defs}}}}}"#);
            let n = format!(r#"{{"$ref":"{at}a0"}}"#);
            let text = holding(DIALECTS[0], keyword, around, &part, &n, "");
            assert_eq!(refused(&text), Some(reason), "{text}");
            // The same with names that mean something else at the root.
            let own = part
                .replace(&at, "#/$defs/")
                .replacen('{', r#"{"$id":"http://x/","#, 1);
            let harmless: Vec<_> = (0..32).map(|level| format!(r#""a{level}":{{}}"#)).collect();
            let more = format!(r#","$defs":{{{}}}"#, harmless.join(","));
            let text = holding(DIALECTS[0], keyword, around, &own, &n, &more);
            assert_eq!(refused(&text), Some(Reason::Reference), "{text}");
        }
    }
}

#[test]
fn a_value_is_no_schema_and_a_name_no_keyword() {
    for keyword in ["enum", "const", "default", "examples", "example"] {
        let (around, path) = match keyword {
            "enum" | "examples" => ("[$]", "/0"),
            _ => ("$", ""),
        };
        let n = format!(r##"{{"$ref":"#/properties/unused/{keyword}{path}"}}"##);
        let text = holding(DIALECTS[0], keyword, around, r#"{"$id":"x"}"#, &n, "");
        assert_eq!(refused(&text), Some(Reason::Reference), "{text}");
        let text = holding(
            DIALECTS[0],
            keyword,
            around,
            r#"{"$id":"x","$schema":"y"}"#,
            "true",
            "",
        );
        assert_eq!(refused(&text), None, "{text}");
    }
    let named: Vec<String> = [
        "$id",
        "$schema",
        "$anchor",
        "$dynamicAnchor",
        "id",
        "enum",
        "const",
        "default",
        "examples",
    ]
    .map(|name| format!(r#""{name}":{{"type":"integer"}}"#))
    .into();
    let named = schema(&format!(r#"{{"properties":{{{}}}}}"#, named.join(",")));
    assert!(takes(&named, r#"{"$id":1,"default":2}"#));
    assert!(!takes(&named, r#"{"$schema":"x"}"#) && !takes(&named, r#"{"default":"x"}"#));
}

#[test]
fn the_whole_schemas_own_name_changes_nothing() {
    for id in DIALECTS
        .into_iter()
        .chain(["http://x/y", "urn:x", "json-schema:///"])
    {
        for dialect in DIALECTS {
            let text = format!(
                r##"{{"$schema":"{dialect}","$id":"{id}","properties":{{"n":{{"$ref":"#/definitions/nonNegativeInteger"}}}},"definitions":{{"nonNegativeInteger":{{"type":"string"}}}}}}"##
            );
            let schema = schema(&text);
            assert!(takes(&schema, r#"{"n":"x"}"#), "{text}");
            assert!(!takes(&schema, r#"{"n":1}"#), "{text}");
        }
    }
}

#[test]
fn a_reference_is_decoded_once() {
    // How a name is written in a reference; none where no reference says it.
    for (name, said) in [
        ("Partial<Foo>", Some("Partial%3CFoo%3E")),
        ("Partial<Foo>", Some("Partial<Foo>")),
        ("a b", Some("a%20b")),
        ("é", Some("%C3%A9")),
        ("é", Some("%c3%A9")),
        ("a/b", Some("a~1b")),
        ("a/b", Some("a%7E1b")),
        ("~", Some("~0")),
        ("a", Some("%61")),
        ("anyOf", Some("any%4Ff")),
        ("a%20b", None),
        ("a b", None),
    ] {
        let wrongly = ["a%2520b", "a%20b%", "%zz", "%+1", "%FF", "a%2", "100%"];
        let ways = said.map_or(wrongly.to_vec(), |said| vec![said]);
        for (way, count) in ways.into_iter().flat_map(|way| [(way, 0), (way, 20)]) {
            let more: String = (0..count).map(|n| format!(r#","x-{n}":0"#)).collect();
            let text = format!(
                r##"{{"properties":{{"n":{{"$ref":"#/definitions/{way}"}}}},"definitions":{{"{name}":{{"type":"integer"{more}}}}}{more}}}"##
            );
            if said.is_none() {
                assert_eq!(refused(&text), Some(Reason::Reference), "{text}");
                continue;
            }
            let schema = schema(&text);
            assert!(takes(&schema, r#"{"n":1}"#), "{text}");
            assert!(!takes(&schema, r#"{"n":"x"}"#), "{text}");
        }
    }
    let within = schema(
        r##"{"properties":{"n":{"$ref":"#/%24defs/a/any%4Ff%2F1"}},"$defs":{"a":{"anyOf":[true,{"type":"integer"}]}}}"##,
    );
    assert!(takes(&within, r#"{"n":1}"#) && !takes(&within, r#"{"n":"x"}"#));
}
