//! Every policy in the documentation is what the documentation says it is.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod support;

use std::path::Path;

use countersign_catalog::Shape;
use countersign_policy::{Class, PolicySet, ProblemCode, RefusalCode, Tool, Typed};
use support::{Call, bundle};

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The fenced blocks of a page that hold Cedar: what follows `cedar` on the
/// fence, and the text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            match open.take() {
                Some(block) => blocks.push(block),
                None => {
                    open = fence
                        .strip_prefix("cedar")
                        .map(|rest| (rest.trim().to_owned(), String::new()));
                }
            }
        } else if let Some((_, text)) = &mut open {
            text.push_str(line);
            text.push('\n');
        }
    }
    blocks
}

#[test]
fn every_policy_in_the_documentation_loads_or_is_refused_as_it_says() {
    let mut loaded = 0;
    let mut refused = 0;
    for name in [
        "docs/policy.md",
        "policies/shipped/README.md",
        "policies/demo/README.md",
    ] {
        for (says, text) in blocks(&page(name)) {
            let read = if says == "typed" {
                let schema = br#"{"type":"object","required":["amount"],"properties":{"amount":{"type":"number"}}}"#;
                let shape = Shape::of_schema(schema);
                let tool = Tool {
                    server: "ledger",
                    name: "transfer",
                    class: Class::SideEffecting,
                };
                let shape = shape.as_ref();
                PolicySet::load_for(bundle(&text), &[Typed { tool, shape }])
            } else {
                PolicySet::load(bundle(&text))
            };
            match (read, says.strip_prefix("refused ")) {
                (Ok(_), None) => loaded += 1,
                (Err(error), Some(code)) => {
                    assert_eq!(error.problems()[0].code().as_str(), code, "{text}");
                    refused += 1;
                }
                (Ok(_), Some(code)) => panic!("{name}: not refused with {code}:\n{text}"),
                (Err(error), None) => panic!("{name}: {error}\n{text}"),
            }
        }
    }
    assert!(loaded >= 8 && refused == 2, "{loaded} {refused}");
}

#[test]
fn the_safe_forms_of_the_documentation_forbid_what_it_says() {
    let page = page("docs/policy.md");
    let limit = |id: &str| {
        let block = blocks(&page)
            .into_iter()
            .find(|(_, text)| text.contains(&format!("@id(\"{id}\")")));
        support::policies(&format!(
            "permit (principal, action, resource);\n{}",
            block.unwrap().1
        ))
    };
    for (id, arguments, allowed) in [
        ("transfer-limit", r#"{"amount":1000}"#, true),
        ("transfer-limit", r#"{"amount":1000.5}"#, false),
        ("transfer-limit", r#"{"amount":5000.0}"#, false),
        ("transfer-limit", r#"{"amount":5e3}"#, false),
        ("transfer-limit", r#"{"amount":1e30}"#, false),
        ("transfer-limit", r#"{"amount":"5000"}"#, false),
        ("transfer-limit", r#"{"amount":null}"#, false),
        (
            "transfer-limit",
            r#"{"amount":{"__extn":{"fn":"decimal","arg":"5000.0"}}}"#,
            false,
        ),
        ("transfer-limit", "{}", false),
        ("fee-limit", r#"{"fee":2.5}"#, true),
        ("fee-limit", r#"{"fee":25e-1}"#, true),
        ("fee-limit", r#"{"fee":2.5001}"#, false),
        ("fee-limit", r#"{"fee":1e30}"#, false),
        ("fee-limit", r#"{"fee":0.00001}"#, false),
        ("only-known-accounts", r#"{"to":"rent"}"#, true),
        ("only-known-accounts", r#"{"to":"Rent"}"#, false),
        ("only-known-accounts", r#"{"to":["rent"]}"#, false),
    ] {
        assert_eq!(
            Call::of(arguments).decide(&limit(id)).allow(),
            allowed,
            "{id} {arguments}"
        );
    }
}

#[test]
fn every_code_of_a_problem_and_of_a_refusal_is_documented() {
    let page = page("docs/policy.md");
    for code in ProblemCode::ALL {
        assert!(page.contains(&format!("| `{code}` |")), "{code}");
    }
    for code in RefusalCode::ALL {
        assert!(page.contains(&format!("(errors/{code}.md)")), "{code}");
    }
}
