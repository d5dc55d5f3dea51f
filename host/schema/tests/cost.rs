//! What holding arguments against a schema takes is bounded: each list of a
//! schema, as long as it may be, against as many values as a call may hold.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use countersign_canon::View;
use countersign_schema::{InputSchema, Reason};
use support::{schema, view};

fn list(count: usize, of: impl Fn(usize) -> String) -> String {
    (0..count).map(of).collect::<Vec<_>>().join(",")
}

/// An array of the same value.
fn many(count: usize, value: &str) -> View {
    view(Some(&format!(
        r#"{{"a":[{}]}}"#,
        list(count, |_| value.to_owned())
    )))
}

fn items(of: &str) -> InputSchema {
    schema(&format!(r#"{{"properties":{{"a":{{"items":{of}}}}}}}"#))
}

/// `fits`, or the keyword that does not.
fn outcome(schema: &InputSchema, view: &View) -> String {
    schema
        .check(view)
        .map_or_else(|misfit| misfit.keyword, |()| "fits".to_owned())
}

#[test]
fn a_list_of_values_is_looked_up_and_not_gone_through() {
    let numbers = many(250_000, "1999");
    for count in [2_000, 15_000] {
        let one_of = items(&format!(
            r#"{{"enum":[{}]}}"#,
            list(count, |n| n.to_string())
        ));
        assert_eq!(outcome(&one_of, &numbers), "fits");
    }
    let other = items(&format!(
        r#"{{"enum":[{}]}}"#,
        list(1_999, |n| n.to_string())
    ));
    assert_eq!(outcome(&other, &numbers), "enum");
    let texts = many(250_000, r#""x1999""#);
    let one_of = items(&format!(
        r#"{{"enum":[{}]}}"#,
        list(15_000, |n| format!(r#""x{n}""#))
    ));
    assert_eq!(outcome(&one_of, &texts), "fits");
    let objects = many(80_000, r#"{"b":[1999.0]}"#);
    let one_of = items(&format!(
        r#"{{"enum":[{}]}}"#,
        list(4_000, |n| format!(r#"{{"b":[{n}]}}"#))
    ));
    assert_eq!(outcome(&one_of, &objects), "fits");
}

#[test]
fn each_list_of_a_schema_against_as_many_values_as_there_may_be_is_refused_in_time() {
    let names = |count| list(count, |n| format!(r#""k{n}""#));
    let schemas = |count, of: &str| list(count, |_| of.to_owned());
    let named = |count, of: &str| list(count, |n| format!(r#""k{n}":{of}"#));
    let numbers = many(250_000, "7");
    let objects = many(130_000, r#"{"k0":7}"#);
    let wide = many(17, &format!("{{{}}}", named(15_000, "7")));
    for (of, values) in [
        (format!(r#"{{"required":[{}]}}"#, names(15_000)), &wide),
        (
            format!(r#"{{"dependentRequired":{{"k0":[{}]}}}}"#, names(15_000)),
            &wide,
        ),
        (
            format!(
                r#"{{"dependentRequired":{{{}}}}}"#,
                named(5_000, r#"["k0"]"#)
            ),
            &objects,
        ),
        (
            format!(r#"{{"dependentSchemas":{{{}}}}}"#, named(4_000, "{}")),
            &objects,
        ),
        (
            format!(r#"{{"properties":{{{}}}}}"#, named(4_000, "true")),
            &objects,
        ),
        (
            format!(r#"{{"patternProperties":{{{}}}}}"#, named(1_000, "true")),
            &objects,
        ),
        (
            format!(
                r#"{{"propertyNames":{{"allOf":[{}]}}}}"#,
                schemas(4_000, "true")
            ),
            &objects,
        ),
        (
            format!(r#"{{"allOf":[{}]}}"#, schemas(4_000, "true")),
            &numbers,
        ),
        (
            format!(r#"{{"allOf":[{}]}}"#, schemas(4_000, r#"{"maximum":9}"#)),
            &numbers,
        ),
        (
            format!(
                r#"{{"anyOf":[{},{{"minimum":0}}]}}"#,
                schemas(4_000, r#"{"maximum":5}"#)
            ),
            &numbers,
        ),
        (
            format!(r#"{{"oneOf":[{},true]}}"#, schemas(4_000, "false")),
            &numbers,
        ),
        (
            format!(
                r#"{{"not":{{"anyOf":[{}]}}}}"#,
                schemas(4_000, r#"{"type":"null"}"#)
            ),
            &numbers,
        ),
        (
            format!(
                r#"{{"unevaluatedProperties":false,"anyOf":[{}]}}"#,
                list(1_300, |n| format!(
                    r#"{{"properties":{{"k{}":true}}}}"#,
                    1_299 - n
                ))
            ),
            &objects,
        ),
        // Whatever fails within may be left early, and tried again at each value.
        (
            format!(
                r#"{{"anyOf":[{{"anyOf":[{}]}},true]}}"#,
                schemas(4_000, r#"{"type":"null"}"#)
            ),
            &numbers,
        ),
        (
            format!(
                r#"{{"anyOf":[{{"anyOf":[{}]}},true]}}"#,
                schemas(4_000, "false")
            ),
            &numbers,
        ),
        (
            format!(
                r#"{{"anyOf":[{{"allOf":[{},{{"type":"null"}}]}},true]}}"#,
                schemas(4_000, "true")
            ),
            &numbers,
        ),
        (
            format!(
                r#"{{"anyOf":[{{"oneOf":[true,{},true]}},true]}}"#,
                schemas(4_000, "false")
            ),
            &numbers,
        ),
        (
            format!(
                r#"{{"anyOf":[{{"not":{{"allOf":[{},false]}}}},true]}}"#,
                schemas(4_000, "true")
            ),
            &numbers,
        ),
        (
            format!(
                r#"{{"anyOf":[{{"patternProperties":{{{},"^k0$":false}}}},true]}}"#,
                named(1_000, "true").replace("\"k0\"", "\"kk\"")
            ),
            &objects,
        ),
        (
            format!(
                r#"{{"anyOf":[{{"dependentSchemas":{{{},"k0":false}}}},true]}}"#,
                named(4_000, "true").replace("\"k0\"", "\"kk\"")
            ),
            &objects,
        ),
        {
            let few = |of: &str| format!(r#"{{"anyOf":[{}]}}"#, schemas(15, of));
            (
                format!(r#"{{"anyOf":[{},true]}}"#, few(&few(&few("false")))),
                &numbers,
            )
        },
    ] {
        let short: String = of.chars().take(80).collect();
        let schema = items(&of);
        assert_eq!(schema.check_within(values, 1 << 22), None, "{short}");
        assert_eq!(schema.check_quickly(values), None, "{short}");
        // The same schema takes what is small.
        assert!(schema.check_quickly(&many(1, "7")).is_some(), "{short}");
    }
}

#[test]
fn what_takes_more_than_may_be_is_told_apart_from_what_does_not_fit() {
    let all = (0..4_000).map(|_| "true").collect::<Vec<_>>().join(",");
    let schema = items(&format!(r#"{{"allOf":[{all}]}}"#));
    let misfit = schema.check(&many(250_000, "7")).unwrap_err();
    assert_eq!(
        (&*misfit.pointer, &*misfit.keyword),
        ("/arguments", "steps")
    );
    assert_eq!(outcome(&schema, &many(1_000, "7")), "fits");
}

#[test]
fn the_largest_call_fits_a_schema_as_people_write_them() {
    let row = r#"{"id":12345,"name":"a name of some length","tags":["a","b"],"price":19.99}"#;
    let rows = many(37_000, row);
    let schema = items(
        r#"{"type":"object","required":["id","name"],"additionalProperties":false,"properties":{
            "id":{"type":"integer","minimum":0},"name":{"type":"string","minLength":1,"maxLength":200},
            "tags":{"type":"array","uniqueItems":true,"items":{"enum":["a","b","c"]}},
            "price":{"anyOf":[{"type":"number","multipleOf":0.01},{"type":"null"}]}}}"#,
    );
    assert_eq!(outcome(&schema, &rows), "fits");
    assert_eq!(schema.check_quickly(&rows), None);
    assert_eq!(schema.check_quickly(&many(100, row)), Some(Ok(())));
}

#[test]
fn a_value_that_does_not_fit_is_not_copied_for_each_way_in_which_it_does_not() {
    let ways = list(4_000, |_| r#"{"type":"null"}"#.to_owned());
    let schema = schema(&format!(r#"{{"properties":{{"a":{{"anyOf":[{ways}]}}}}}}"#));
    assert_eq!(outcome(&schema, &many(250_000, "7")), "anyOf");
}

#[test]
fn what_compiling_takes_is_bounded_wherever_it_stands() {
    // Each the way to the next, deeper than any arguments.
    let deep = |last: &str| {
        let levels = list(63, |n| {
            format!(r##""i{n}":{{"items":{{"$ref":"#/$defs/i{}"}}}}"##, n + 1)
        });
        format!(r##"{levels},"i63":{last}"##)
    };
    let defs = |count: usize, last: &str| {
        let doubled = list(count, |n| {
            let next = format!(r##"{{"$ref":"#/$defs/d{n}"}}"##);
            format!(r#""d{}":{{"allOf":[{next},{next}]}}"#, n + 1)
        });
        let last = deep(&format!(r##"{{{last}"$ref":"#/$defs/d{count}"}}"##));
        format!(
            r##"{{"$ref":"#/$defs/i0","$defs":{{{last},{doubled},"d0":{{"type":"object"}}}}}}"##
        )
    };
    let names = list(700, |n| format!(r#""a-name-{n}":true"#));
    let wide = |part: &str, count: usize| {
        let (keyword, part) = part.split_once(' ').unwrap();
        let part = part.replace("NAMES", &format!(r#"{{"properties":{{{names}}}}}"#));
        let ways = list(count, |_| r##"{"$ref":"#/$defs/B"}"##.to_owned());
        format!(r##"{{"{keyword}":false,"anyOf":[{ways}],"$defs":{{"B":{part}}}}}"##)
    };
    let asks = r#""unevaluatedProperties":false,"#;
    let mut cases = vec![
        (defs(14, asks), true),
        (defs(14, r#""unevaluatedItems":false,"#), true),
        (defs(14, ""), true),
        (defs(5, asks), false),
        (defs(5, ""), false),
    ];
    for part in [
        "unevaluatedProperties NAMES",
        r#"unevaluatedProperties {"allOf":[NAMES]}"#,
        r#"unevaluatedProperties {"oneOf":[{"items":NAMES}]}"#,
        r#"unevaluatedProperties {"anyOf":[{"properties":{"x":NAMES}}]}"#,
        r#"unevaluatedProperties {"additionalProperties":NAMES}"#,
        r#"unevaluatedProperties {"if":{"not":NAMES}}"#,
        r#"unevaluatedItems {"allOf":[{"items":NAMES}]}"#,
        r#"unevaluatedItems {"contains":NAMES}"#,
    ] {
        cases.push((wide(part, 150), true));
        cases.push((wide(part, 40), false));
    }
    for (schema, refused) in cases {
        let compiled = InputSchema::compile(Some(schema.as_bytes()));
        let reason = compiled.err().map(|error| error.reason);
        assert_eq!(reason, refused.then_some(Reason::Cost), "{schema:.160}");
    }
}
