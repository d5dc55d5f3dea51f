//! What arguments a schema takes, number by number, and which schemas are not
//! taken at all.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use countersign_schema::{InputSchema, Reason};
use support::{schema, takes, view};

/// One property, `n`.
fn of(property: &str) -> InputSchema {
    schema(&format!(
        r#"{{"type":"object","properties":{{"n":{property}}}}}"#
    ))
}

#[test]
fn numbers_are_judged_on_their_digits() {
    for (property, good, bad) in [
        (
            r#"{"type":"number","maximum":1000}"#,
            "1000 1000.0 1e3 999.99 -1e400 1e-400 -0",
            "1000.5 1e400 1000.00000000000000000000000001 9223372036854775808",
        ),
        (
            r#"{"type":"number","exclusiveMinimum":0}"#,
            "1e-400 0.1",
            "0 -0 0.0 0e9 -1e-400",
        ),
        (
            r#"{"minimum":9007199254740993}"#,
            "9007199254740993 9007199254740993.0",
            "9007199254740992 9007199254740992.9",
        ),
        (
            r#"{"multipleOf":0.01}"#,
            "19.99 1 1e400 0.30",
            "19.999 1e-3",
        ),
        (
            r#"{"multipleOf":3}"#,
            "9007199254740993 3e2",
            "9007199254740992",
        ),
        (
            r#"{"const":0.1}"#,
            "0.1 0.10 1e-1",
            "0.10000000000000000000001",
        ),
        (
            r#"{"enum":[1,"x",{"a":[2.5]}]}"#,
            r#"1 1.0 "x" {"a":[2.50]}"#,
            r#"2 "1" {"a":[2.5000000000000000000001]} null"#,
        ),
        (
            r#"{"type":"integer"}"#,
            "0 -7 9223372036854775807",
            "1.0 1e2 -0 9223372036854775808 1e400 \"1\"",
        ),
        (r#"{"type":["integer","null"]}"#, "1 null", "1.0"),
        (
            r#"{"anyOf":[{"type":"integer","minimum":2},{"type":"string"}]}"#,
            "2 \"\"",
            "1 2.0",
        ),
        (
            r#"{"type":"array","items":{"type":"number","maximum":1}}"#,
            "[1,0.5]",
            "[1.00000000000000000000001]",
        ),
        (
            r#"{"uniqueItems":true}"#,
            "[1,2,\"1\"] [1.1,1.10000000000000000000001]",
            "[1,1.0] [{\"a\":1,\"b\":2},{\"b\":2,\"a\":1e0}]",
        ),
        (r#"{"not":{"maximum":5}}"#, "5.00000000000000000000001", "5"),
    ] {
        let schema = of(property);
        for value in good.split(' ') {
            assert!(
                takes(&schema, &format!(r#"{{"n":{value}}}"#)),
                "{property} {value}"
            );
        }
        for value in bad.split(' ') {
            assert!(
                !takes(&schema, &format!(r#"{{"n":{value}}}"#)),
                "{property} {value}"
            );
        }
    }
}

#[test]
fn what_looks_like_another_librarys_value_is_an_object() {
    let schema = of(r#"{"type":"number"}"#);
    for value in [
        r#"{"$serde_json::private::Number":"1"}"#,
        r#"{"$serde_json::private::RawValue":"1"}"#,
        r#"{"__extn":{"fn":"decimal","arg":"1.0"}}"#,
        r#"{"__entity":{"type":"Agent","id":"x"}}"#,
    ] {
        assert!(!takes(&schema, &format!(r#"{{"n":{value}}}"#)), "{value}");
        assert!(
            takes(&of(r#"{"type":"object"}"#), &format!(r#"{{"n":{value}}}"#)),
            "{value}"
        );
    }
}

#[test]
fn a_misfit_says_where_and_by_which_keyword_and_nothing_of_the_value() {
    let schema = schema(
        r#"{"type":"object","required":["a"],"additionalProperties":false,"properties":{
            "a":{"type":"string","maxLength":3},"b":{"type":"array","items":{"type":"object",
            "properties":{"c/d":{"type":"number","maximum":5}}}}}}"#,
    );
    for (arguments, pointer, keyword) in [
        ("{}", "/arguments", "required"),
        (r#"{"a":7}"#, "/arguments/a", "type"),
        (r#"{"a":"hunter2"}"#, "/arguments/a", "maxLength"),
        (
            r#"{"a":"","b":[{},{"c/d":31337}]}"#,
            "/arguments/b/1/c~1d",
            "maximum",
        ),
        (
            r#"{"a":"","hunter2x":1}"#,
            "/arguments",
            "additionalProperties",
        ),
    ] {
        let misfit = schema.check(&view(Some(arguments))).unwrap_err();
        assert_eq!(
            (misfit.pointer.as_str(), misfit.keyword.as_str()),
            (pointer, keyword),
            "{arguments}"
        );
        let said = misfit.to_string();
        assert!(
            !said.contains("hunter2") && !said.contains("31337"),
            "{said}"
        );
    }
    assert!(schema.check(&view(None)).is_err());
    let open = InputSchema::compile(Some(br#"{"type":"object"}"#)).unwrap();
    assert!(open.check(&view(None)).is_ok());
}

#[test]
fn what_could_not_be_held_to_exactly_or_cheaply_is_refused() {
    let bomb = {
        let mut defs = String::from(r#""d0":{"type":"string"}"#);
        for number in 1..40 {
            let before = number - 1;
            defs.push_str(&format!(
                r##","d{number}":{{"allOf":[{{"$ref":"#/$defs/d{before}"}},{{"$ref":"#/$defs/d{before}"}}]}}"##
            ));
        }
        format!(r##"{{"$defs":{{{defs}}},"$ref":"#/$defs/d39"}}"##)
    };
    let chain = {
        let mut defs = String::from(r#""d0":{}"#);
        for number in 1..1000 {
            defs.push_str(&format!(
                r##","d{number}":{{"$ref":"#/$defs/d{}"}}"##,
                number - 1
            ));
        }
        format!(r##"{{"$defs":{{{defs}}},"$ref":"#/$defs/d999"}}"##)
    };
    let wide = format!(r#"{{"anyOf":[{}true]}}"#, "true,".repeat(5000));
    let asking = |keyword: &str, depth: usize| {
        let asks = format!(r#","{keyword}":{{"type":"string"}}}}"#);
        let (open, close) = (
            r#"{"anyOf":["#.repeat(depth),
            format!("]{asks}").repeat(depth),
        );
        format!(r#"{open}{{"type":"object"}}{close}"#)
    };
    let (members, items) = (
        asking("unevaluatedProperties", 30),
        asking("unevaluatedItems", 30),
    );
    let long = format!(r#"{{"title":"{}"}}"#, "x".repeat(300_000));
    for (schema, reason) in [
        ("true", Reason::Missing),
        ("[]", Reason::Missing),
        (
            r#"{"$schema":"http://json-schema.org/draft-04/schema#"}"#,
            Reason::Dialect,
        ),
        (r#"{"$schema":7}"#, Reason::Dialect),
        (
            r#"{"$ref":"https://example.com/schema"}"#,
            Reason::Reference,
        ),
        (
            r#"{"properties":{"a":{"$ref":"file:///etc/passwd"}}}"#,
            Reason::Reference,
        ),
        (r##"{"$ref":"#/nowhere"}"##, Reason::Reference),
        (
            r##"{"$ref":"#name","$defs":{"a":{"$anchor":"name"}}}"##,
            Reason::Reference,
        ),
        (r##"{"$dynamicRef":"#x"}"##, Reason::Reference),
        (r##"{"$ref":"#"}"##, Reason::Cycle),
        (
            r##"{"allOf":[{"anyOf":[{"$ref":"#/allOf/0"}]}]}"##,
            Reason::Cycle,
        ),
        (
            r##"{"properties":{"c":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}"##,
            Reason::Cost,
        ),
        (&bomb, Reason::Cost),
        (&chain, Reason::Cost),
        (&wide, Reason::Cost),
        (&members, Reason::Cost),
        (&items, Reason::Cost),
        (&long, Reason::Cost),
        (
            r#"{"properties":{"a":{"pattern":"(?=x)y"}}}"#,
            Reason::Pattern,
        ),
        (
            r#"{"properties":{"a":{"pattern":"(a)\\1"}}}"#,
            Reason::Pattern,
        ),
        (
            r#"{"properties":{"a":{"pattern":"(((a{1,100}){1,100}){1,100}){1,100}"}}}"#,
            Reason::Pattern,
        ),
        (r#"{"properties":{"a":{"maximum":1e400}}}"#, Reason::Number),
        (
            r#"{"properties":{"a":{"maximum":0.12345678901234567890}}}"#,
            Reason::Number,
        ),
        (r#"{"properties":{"a":{"maximum":"1"}}}"#, Reason::Invalid),
        (r#"{"type":"objekt"}"#, Reason::Invalid),
    ] {
        let refused = InputSchema::compile(Some(schema.as_bytes())).map(|_| ());
        let short: String = schema.chars().take(120).collect();
        assert_eq!(
            refused.map_err(|refused| refused.reason),
            Err(reason),
            "{short}"
        );
    }
    assert_eq!(
        InputSchema::compile(None).unwrap_err().reason,
        Reason::Missing
    );
}

#[test]
fn what_servers_write_is_taken() {
    for text in [
        r#"{"type":"object"}"#,
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/x","type":"object"}"#,
        r##"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"type":"string","format":"uri"}},"additionalProperties":false}"##,
        r##"{"type":"object","properties":{"tree":{"$ref":"#/$defs/T"}},"$defs":{"T":{"type":"object","properties":{"id":{"type":"string","pattern":"^[a-z]+$"},"kids":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/T"}},{"type":"null"}],"default":null}}}}}"##,
        r#"{"type":"object","properties":{"amount":{"type":"number","multipleOf":0.01,"minimum":0.01},"id":{"type":"integer","format":"uint64","minimum":0}},"x-mcp-header":"A"}"#,
    ] {
        drop(schema(text));
    }
}

#[test]
fn a_deep_instance_of_a_recursive_schema_fits_a_small_stack() {
    let few = r##"{"anyOf":[{"allOf":[{"oneOf":[{"$ref":"#"}]}]},{"type":"null"}]}"##;
    // Of so many that what they take is counted.
    let names: Vec<_> = (0..20).map(|n| format!(r#","p{n}":{{}}"#)).collect();
    let many = format!(
        r##"{{"anyOf":[{{"$ref":"#"}},{{"type":"null"}}]}}{}"##,
        names.concat()
    );
    for of in [few, &many] {
        let schema = schema(&format!(r#"{{"type":"object","properties":{{"k":{of}}}}}"#));
        let deep = format!("{}null{}", r#"{"k":"#.repeat(60), "}".repeat(60));
        let view = view(Some(&deep));
        let small = std::thread::Builder::new().stack_size(1 << 20);
        let fits = small
            .spawn(move || schema.check(&view).is_ok())
            .unwrap()
            .join()
            .unwrap();
        assert!(fits);
    }
}

#[test]
fn every_way_to_look_at_a_value_twice_or_at_too_much_is_counted() {
    let many: Vec<_> = (0..5_000).map(|n| format!(r#""p{n}":{{}}"#)).collect();
    let many = format!(r#"{{"properties":{{{}}}}}"#, many.join(","));
    let deep = format!("{}true{}", r#"{"not":"#.repeat(70), "}".repeat(70));
    let long: Vec<_> = (0..20_000).map(|n| n.to_string()).collect();
    let long = format!(r#"{{"enum":[{}]}}"#, long.join(","));
    for (schema, reason) in [
        (
            r##"{"properties":{"c":{"dependentSchemas":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}}}"##,
            Reason::Cost,
        ),
        (
            r##"{"properties":{"c":{"if":{"$ref":"#"},"then":{"$ref":"#"}}}}"##,
            Reason::Cost,
        ),
        (
            r##"{"patternProperties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}"##,
            Reason::Cost,
        ),
        (
            r##"{"properties":{"c":{"$ref":"#"}},"additionalProperties":{"$ref":"#"}}"##,
            Reason::Cost,
        ),
        (
            r##"{"prefixItems":[{"$ref":"#"}],"contains":{"$ref":"#"}}"##,
            Reason::Cost,
        ),
        (r##"{"$defs":{"a":{"$ref":"#/$defs/a"}}}"##, Reason::Cycle),
        (
            r##"{"properties":{"a":{"$id":"x","allOf":[true]}}}"##,
            Reason::Reference,
        ),
        (
            r##"{"$ref":"#/$defs/a%2520b","$defs":{"a b":{},"a%20b":{}}}"##,
            Reason::Reference,
        ),
        (&many, Reason::Cost),
        (&deep, Reason::Cost),
        (&long, Reason::Cost),
    ] {
        let refused = InputSchema::compile(Some(schema.as_bytes())).map(|_| ());
        let short: String = schema.chars().take(120).collect();
        let refused = refused.map_err(|refused| refused.reason);
        assert_eq!(refused, Err(reason), "{short}");
    }
}

#[test]
fn values_are_equal_whole_and_a_format_is_no_rule() {
    for (property, good, bad) in [
        (r#"{"const":{"a":1}}"#, r#"{"a":1.0}"#, "{}"),
        (r#"{"const":[1]}"#, "[1.0]", "[]"),
        (r#"{"const":1}"#, "1.0", "null"),
        (r#"{"uniqueItems":true}"#, r#"[{"a":1},{"b":1}]"#, "[1,1.0]"),
        (r#"{"format":"uri","type":"string"}"#, r#""no uri""#, "1"),
    ] {
        let schema = of(property);
        let holds = |value: &str| takes(&schema, &format!(r#"{{"n":{value}}}"#));
        assert!(holds(good) && !holds(bad), "{property}");
    }
    let closed = schema(r#"{"additionalProperties":{"type":"string"}}"#);
    let long = format!(r#"{{"{}":1}}"#, "é".repeat(400));
    let misfit = closed.check(&view(Some(&long))).unwrap_err();
    assert!((250..=256).contains(&misfit.pointer.len()), "{misfit}");
}
