//! What patterns are taken, what they match, and that a match is counted by the
//! text and the pattern.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use countersign_schema::{InputSchema, Reason};
use support::{schema, takes, view};

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

fn pattern(text: &str) -> String {
    format!(r#"{{"properties":{{"n":{{"pattern":{}}}}}}}"#, quoted(text))
}

fn refused(text: &str) -> Option<Reason> {
    let compiled = InputSchema::compile(Some(text.as_bytes()));
    compiled.err().map(|refused| refused.reason)
}

const UUID: &str = r"^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000)$";
const TIME: &str = r"^((\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|(02)-(0[1-9]|1\d|2[0-8])))T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$";
/// As two widespread libraries write an address and a decimal number.
const HOST: &str = r"^(?=.{1,253}\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*\.?$";
const ADDRESS: &str = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";
const DECIMAL: &str = r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$";

#[test]
fn what_servers_write_matches_what_it_says() {
    for (text, good, bad) in [
        ("^[a-z]+$", "a abc", "A a1 é"),
        (r"^\d{4}$", "1234", "123 12345 ١٢٣٤"),
        (r"^\w+$", "a_1", "é a-b"),
        (r"^\S*$", "ab", "a\u{a0}b"),
        (r"^(get|put|post)$", "get post", "gets xget"),
        ("^x-", "x-1 x-", "ax- x"),
        ("b", "abc b", "ac"),
        (r"^.{1,3}$", "a éßö", "abcd"),
        (r"^[\p{L}\p{N}]+$", "é1 a", "a-b !"),
        (r"^[\p{L} ]{1,100}$", "é a", "1"),
        (
            UUID,
            "123e4567-e89b-12d3-a456-426614174000 00000000-0000-0000-0000-000000000000",
            "123e4567 123e4567-e89b-92d3-a456-426614174000",
        ),
        (
            TIME,
            "2024-02-29T10:00:00Z 2023-12-31T23:59:59.9+01:00",
            "2023-02-29T10:00:00Z 2023-12-31",
        ),
        (
            ADDRESS,
            "a@b.cd a.b+c@d-e.example x_@y.zz",
            ".a@b.cd a..b@c.de a@b @b.cd a@b..cd a@b.c",
        ),
        (DECIMAL, "1 +1.5 -0 00.1 .5 5.", "- + . -. 1.2.3 a 1a --1"),
        ("^(?=.*[0-9])(?=.*[a-z]).{4,}$", "abc1 1abc", "abcd 1234 a1"),
        ("^(?!a|b)", "c ca", "a ba"),
        ("^(?!(a)(b|c))(?=x?[^)])[a-z]+$", "ad b xa", "ab acx )"),
        (r"^(?!\))(?![(])(?![)\]|])\S", "a x)", ") ( ] |"),
        ("^(?=(?:a|b)+$)(?!aa)..$", "ab ba bb", "aa a ac"),
        ("^(?!x)", "y", "x xy"),
        (
            "^https?://.{1,255}$",
            "https://a http://b.c/d",
            "https:// ftp://a",
        ),
        (r"^[^/]{1,100}/.{1,255}$", "a/b ab/c/d", "a/ /b"),
        (HOST, "a a.b-c.de a.", "-a a- a..b ."),
    ] {
        let schema = schema(&pattern(text));
        let holds = |value: &str| takes(&schema, &format!(r#"{{"n":{}}}"#, quoted(value)));
        for value in good.split(' ') {
            assert!(holds(value), "{text} {value}");
        }
        for value in bad.split(' ') {
            assert!(!holds(value), "{text} {value}");
        }
        assert!(takes(&schema, r#"{"n":7}"#), "{text}");
    }
}

#[test]
fn what_is_not_linear_or_too_large_is_refused_wherever_it_stands() {
    let long = format!("^[{}]x$", "a-c".repeat(8_000));
    for text in [
        "(?=x)y",
        "a(?!b)",
        "^a(?!b)c",
        "^(?!a)b|c",
        "^(?!a)*b",
        "^(?!a){2}b",
        "^(?!a)(?=b)?c",
        "^((?!a)b)$",
        "^(?!(?=a)b)c",
        "^(?!a)b)c",
        "^(?!a)b(c",
        "^(?!a",
        "^(?<!a)b",
        "(?<=a)b",
        r"^(?!(a))\1",
        r"(a)\1",
        "(((a{1,100}){1,100}){1,100}){1,100}",
        "a[ab]{20000}[^ab]",
        &long,
    ] {
        let said = quoted(text);
        for schema in [
            pattern(text),
            format!(r#"{{"properties":{{"a":{{"patternProperties":{{{said}:{{}}}}}}}}}}"#),
            format!(r#"{{"patternProperties":{{{said}:{{}}}},"additionalProperties":false}}"#),
            format!(
                r#"{{"allOf":[{{"patternProperties":{{{said}:{{}}}}}}],"unevaluatedProperties":false}}"#
            ),
            format!(r#"{{"propertyNames":{{"pattern":{said}}}}}"#),
            format!(r##"{{"items":{{"$ref":"#/$defs/a"}},"$defs":{{"a":{{"pattern":{said}}}}}}}"##),
        ] {
            assert_eq!(refused(&schema), Some(Reason::Pattern), "{schema:.200}");
        }
        // Nothing leads there.
        let unused = format!(r#"{{"$defs":{{"a":{{"pattern":{said}}}}}}}"#);
        assert_eq!(refused(&unused), None, "{unused:.200}");
    }
    // Names are matched without look-aheads.
    for text in [ADDRESS, DECIMAL] {
        let names = format!(r#"{{"patternProperties":{{{}:{{}}}}}}"#, quoted(text));
        assert_eq!(refused(&names), Some(Reason::Pattern), "{text}");
    }
    // The whole of them is bounded, and what is said often is one.
    let of = |count: usize, each: &dyn Fn(usize) -> String| {
        let all = (0..count).map(|n| format!(r#""p{n}":{{"pattern":{}}}"#, quoted(&each(n))));
        format!(
            r#"{{"properties":{{{}}}}}"#,
            all.collect::<Vec<_>>().join(",")
        )
    };
    let other = |n: usize| format!("x[ab]{{500}}y{n}");
    assert_eq!(refused(&of(1_500, &other)), Some(Reason::Cost));
    assert_eq!(refused(&of(1_500, &|_| other(1))), None);
}

#[test]
fn a_match_is_counted_by_the_text_and_the_pattern() {
    // Its text alone is 1,250 steps.
    let text = "ab".repeat(20_000);
    let large = quoted("a[ab]{1000}[^ab]");
    let small = quoted("[ab]+");
    let value = format!(r#"{{"n":"{text}"}}"#);
    let name = format!(r#"{{"n":{{"{text}":1}}}}"#);
    let n = |of: String| schema(&format!(r#"{{"properties":{{"n":{of}}}}}"#));
    for (of, arguments) in [
        (
            (|p: &str| format!(r#"{{"pattern":{p}}}"#)) as fn(&str) -> String,
            &value,
        ),
        (
            |p| format!(r#"{{"not":{{"anyOf":[{{"pattern":{p}}}]}}}}"#),
            &value,
        ),
        (
            |p| format!(r#"{{"propertyNames":{{"pattern":{p}}}}}"#),
            &name,
        ),
        (
            |p| format!(r#"{{"patternProperties":{{{p}:true}}}}"#),
            &name,
        ),
        (
            |p| format!(r#"{{"patternProperties":{{{p}:true}},"additionalProperties":false}}"#),
            &name,
        ),
        (
            |p| {
                format!(
                    r#"{{"allOf":[{{"patternProperties":{{{p}:true}}}}],"unevaluatedProperties":false}}"#
                )
            },
            &name,
        ),
    ] {
        let action = view(Some(arguments));
        let (large, small) = (of(&large), of(&small));
        assert_eq!(n(large.clone()).check_quickly(&action), None, "{large}");
        assert!(n(small.clone()).check_quickly(&action).is_some(), "{small}");
    }
    // Nor do the names of a schema against the patterns beside them take long.
    let names: Vec<_> = (0..3_000).map(|n| format!(r#""name-{n}":true"#)).collect();
    let patterns: Vec<_> = (0..20)
        .map(|n| format!(r#""a[ab]{{200}}{n}":true"#))
        .collect();
    let both = format!(
        r#"{{"properties":{{{}}},"patternProperties":{{{}}},"additionalProperties":false}}"#,
        names.join(","),
        patterns.join(",")
    );
    assert_eq!(refused(&both), Some(Reason::Cost));
}

#[test]
fn many_short_texts_of_a_usual_pattern_fit() {
    for (text, value) in [
        (UUID, "123e4567-e89b-12d3-a456-426614174000"),
        (TIME, "2023-12-31T23:59:59.9+01:00"),
        (ADDRESS, "someone@mail.example"),
        (DECIMAL, "-12.75"),
    ] {
        let of = quoted(text);
        let schema = schema(&format!(
            r#"{{"properties":{{"n":{{"items":{{"pattern":{of}}}}}}}}}"#
        ));
        let values = |count| vec![quoted(value); count].join(",");
        let action = |count| view(Some(&format!(r#"{{"n":[{}]}}"#, values(count))));
        assert_eq!(schema.check_quickly(&action(100)), Some(Ok(())), "{text}");
        assert_eq!(schema.check(&action(10_000)), Ok(()), "{text}");
    }
}
