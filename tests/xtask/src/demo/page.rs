//! How the story is laid out: chapters, what is sent, what comes back, why.

use serde_json::Value;

use crate::demo::http::Call;

/// How wide a paragraph may be.
const WIDTH: usize = 92;

/// Begins a chapter.
pub(crate) fn chapter(number: usize, title: &str) {
    println!("\n{}\n{number}. {title}\n", "─".repeat(WIDTH));
}

/// A paragraph, broken at `WIDTH`.
pub(crate) fn say(text: &str) {
    let mut line = String::from("  ");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            println!("{line}");
            line = String::from("  ");
        }
        line.push(' ');
        line.push_str(word);
    }
    println!("{line}\n");
}

/// A line that can be pasted, or a piece of output, as it is.
pub(crate) fn quote(text: &str) {
    for line in text.lines() {
        println!("      {line}");
    }
    println!();
}

/// What is sent.
pub(crate) fn sent(call: &Call) {
    println!(
        "   → {} {}   execution_id {}",
        call.tool, call.arguments, call.execution_id
    );
}

/// What came back, in at most a few lines.
pub(crate) fn answered(answer: &Value) {
    let facts = if answer.get("result").is_some() {
        println!("   ← {}", words(answer.pointer("/result/content/0/text")));
        answer.pointer("/result/_meta/countersign.dev~1receipt")
    } else {
        println!("   ← refused: {}", words(answer.pointer("/error/message")));
        answer.pointer("/error/data")
    };
    let facts = facts.and_then(Value::as_object).into_iter().flatten();
    for (name, value) in facts.filter(|(_, value)| !value.is_null()) {
        println!("       {name:<20} {}", words(Some(value)));
    }
}

/// How many effects the upstream really had.
pub(crate) fn effects(count: usize) {
    println!("   ● payments in the ledger server's journal: {count}\n");
}

/// A JSON value in words.
fn words(value: Option<&Value>) -> String {
    value.map_or_else(
        || "nothing".to_owned(),
        |value| match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        },
    )
}
