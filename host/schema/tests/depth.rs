//! The deepest schemas that are taken are compiled, and held against the deepest
//! arguments, on the stack that a worker has.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use countersign_schema::InputSchema;
use support::view;

/// A worker's stack.
const SMALL: usize = 2 << 20;
const LARGE: usize = 256 << 20;

fn on_a_stack<T: Send + 'static>(bytes: usize, act: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(bytes);
    thread.spawn(act).unwrap().join().unwrap()
}

fn compiled(text: &str) -> Option<InputSchema> {
    InputSchema::compile(Some(text.as_bytes())).ok()
}

/// A chain of so many subschemas, each in the next.
fn chain(link: &str, count: usize) -> String {
    let links = (0..count).map(|n| {
        let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, n + 1);
        format!(r#""d{n}":{},"#, link.replace("NEXT", &next))
    });
    let links: String = links.collect();
    format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{links}"d{count}":{{}}}}}}"##)
}

/// The most that is taken of what grows, to within `near`.
fn most(of: impl Fn(usize) -> String + Send + 'static, above: usize, near: usize) -> String {
    on_a_stack(LARGE, move || {
        let (mut good, mut bad) = (0, above);
        while bad - good > near {
            let middle = usize::midpoint(good, bad);
            match compiled(&of(middle)) {
                Some(_) => good = middle,
                None => bad = middle,
            }
        }
        of(good)
    })
}

#[test]
fn the_deepest_schema_fits_a_small_stack() {
    let wide: String = (0..20).map(|n| format!(r#","p{n}":{{}}"#)).collect();
    let deep = format!("{}null{}", r#"{"k":"#.repeat(60), "}".repeat(60));
    for link in [
        "NEXT",
        r#"{"allOf":[NEXT]}"#,
        r#"{"anyOf":[NEXT,{"type":"null"}]}"#,
        r#"{"anyOf":[NEXT],"oneOf":[NEXT],"if":false}"#,
        r#"{"anyOf":[false,NEXT],"oneOf":[false,true],"if":false}"#,
        r#"{"not":{"not":NEXT}}"#,
        r#"{"if":NEXT,"else":false}"#,
        r#"{"dependentSchemas":{"k":NEXT}}"#,
        r#"{"properties":{"k":NEXT}}"#,
        r#"{"additionalProperties":NEXT}"#,
        r#"{"items":NEXT}"#,
        r#"{"properties":{"k":{"anyOf":[NEXT,{"type":"null"}]}}}"#,
        r#"{"allOf":[NEXT],"unevaluatedProperties":{}}"#,
        r#"{"properties":{"k":NEXT},"unevaluatedProperties":true}"#,
    ] {
        // Of so many that what they take is counted.
        let counted = link.starts_with(r#"{"anyOf"#) || link.contains("properties");
        for more in ["", &wide].into_iter().take(1 + usize::from(counted)) {
            let link = link
                .strip_suffix('}')
                .map_or_else(|| link.to_owned(), |link| format!("{link}{more}}}"));
            let text = most(move |count| chain(&link, count), 1_500, 8);
            let action = view(Some(&deep));
            on_a_stack(SMALL, move || {
                let schema = compiled(&text).unwrap();
                let _ = schema.check(&action);
            });
        }
    }
}

#[test]
fn the_most_calls_for_the_deepest_arguments_fit_a_small_stack() {
    let wide: String = (0..20).map(|n| format!(r#","p{n}":{{}}"#)).collect();
    let deep = format!("{}{{}}{}", r#"{"k":"#.repeat(60), "}".repeat(60));
    for wrap in [
        r#"{"allOf":[NEXT]}"#,
        r#"{"anyOf":[NEXT]}"#,
        r#"{"oneOf":[NEXT],"then":true}"#,
        r#"{"not":{"not":NEXT}}"#,
        r#"{"if":true,"then":NEXT}"#,
        r#"{"dependentSchemas":{"k":NEXT}}"#,
        r#"{"allOf":[NEXT]WIDE}"#,
        r#"{"anyOf":[NEXT],"oneOf":[true]WIDE}"#,
    ] {
        let wrap = wrap.replace("WIDE", &wide);
        // So many around each way back to the whole.
        let of = move |count: usize| {
            let back = r##"{"$ref":"#"}"##.to_owned();
            let k = (0..count).fold(back, |inner, _| wrap.replace("NEXT", &inner));
            format!(r#"{{"type":"object","properties":{{"k":{k}}}}}"#)
        };
        let none = of(0);
        let text = most(of, 20, 1);
        assert_ne!(text, none);
        let action = view(Some(&deep));
        let fits = on_a_stack(SMALL, move || {
            compiled(&text).unwrap().check(&action).is_ok()
        });
        assert!(fits);
    }
}
