//! The call of a kibibyte that is measured, and the hundred rules that it meets.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// What the server offers.
pub(crate) const TOOLS: [&str; 4] = ["transfer", "refund", "search", "notify"];

/// The one that is called.
pub(crate) const TOOL: &str = "transfer";

/// Rules in the bundle, and how many of them have a scope that the call matches.
pub(crate) const RULES: usize = 100;
pub(crate) const APPLICABLE: usize = 61;

/// Arguments by which the whole message has about a kibibyte.
pub(crate) fn arguments() -> String {
    let mut text =
        String::from(r#"{"from":"alice","to":"account-7","amount":250,"note":"for the books","#);
    text.push_str(r#""lines":["#);
    for number in 0..9 {
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(
            text,
            r#"{comma}{{"text":"caf\u00e9, \"quoted\" and plain","price":{number},"paid":true}}"#
        );
    }
    text.push_str("]}");
    text
}

/// The policies of one bundle: agents that may nothing, limits for accounts,
/// and what may be done at all.
pub(crate) fn policies() -> String {
    let mut text = String::new();
    for number in 0..20 {
        let _ = writeln!(
            text,
            "@id(\"agent-{number}\") forbid (principal, action, resource) \
             when {{ principal.subject == \"retired-{number}\" }};"
        );
    }
    for number in 0..40 {
        let _ = writeln!(
            text,
            "@id(\"account-{number}\") forbid (principal, action == Action::\"ledger/transfer\", resource) \
             unless {{ context.args.to != \"account-{number}\" || context.args.amount <= {} }};",
            1_000 + number
        );
    }
    for tool in ["refund", "search", "notify"] {
        for number in 0..12 {
            let _ = writeln!(
                text,
                "@id(\"{tool}-{number}\") forbid (principal, action == Action::\"ledger/{tool}\", resource) \
                 unless {{ context.args.from != \"account-{number}\" }};"
            );
        }
    }
    for tool in TOOLS {
        let _ = writeln!(
            text,
            "@id(\"{tool}\") permit (principal, action == Action::\"ledger/{tool}\", resource);"
        );
    }
    text
}

/// What the arguments of each tool have to be.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "from": { "type": "string" },
            "to": { "type": "string" },
            "amount": { "type": "integer" },
            "note": { "type": "string" },
            "lines": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "text": { "type": "string" },
                        "price": { "type": "integer" },
                        "paid": { "type": "boolean" },
                    },
                    "required": ["text", "price"],
                },
            },
        },
        "required": ["from", "to", "amount"],
    })
}
