//! `countersign executions show` and `explain`

use std::fmt::Write as _;

use clap::Args;
use countersign_gateway::operator::api;
use serde_json::Value;

use super::{Where, Which};
use crate::failure::{Failure, Status};
use crate::text::{Table, print, visible};

/// Show one execution, and the entries on it
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  shown
  1  there is no such execution
  2  wrong usage, nobody answers, or the ledger cannot be asked now")]
pub(crate) struct Show {
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    which: Which,
    /// Print one JSON object, with the entries whole
    #[arg(long)]
    json: bool,
}

/// Say what is known of an execution, what is not, and what to do
///
/// Meant for whoever is woken up: what the record holds, what nobody can tell
/// from it, what to look at upstream, and the commands that then come into
/// question.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  explained
  1  there is no such execution
  2  wrong usage, nobody answers, or the ledger cannot be asked now")]
pub(crate) struct Explain {
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    which: Which,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let shown = self.place.ask(|office| office.show(self.which.asked()))?;
        if self.json {
            return print(&format!("{}\n", serde_json::json!(shown)));
        }
        print(&format!(
            "{}\n{}",
            row(&shown.execution),
            entries(&shown.log)
        ))
    }
}

impl Explain {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let explained = self
            .place
            .ask(|office| office.explain(self.which.asked()))?;
        if self.json {
            return print(&format!("{}\n", serde_json::json!(explained)));
        }
        let mut text = String::new();
        for (title, lines) in [
            ("What is known", &explained.known),
            ("What is not known", &explained.unknown),
            ("What to do", &explained.next),
            ("Commands", &explained.commands),
        ] {
            if lines.is_empty() {
                continue;
            }
            let _ = writeln!(text, "{title}");
            for line in lines {
                let _ = writeln!(text, "  {}", visible(line));
            }
        }
        print(&text)
    }
}

/// One execution, a line for each fact.
pub(super) fn row(row: &api::Row) -> String {
    let agent = &row.agent;
    let issuer = match agent.issuer.as_str() {
        "" => String::new(),
        issuer => format!(" of {issuer}"),
    };
    let optional = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let state = match &row.outcome {
        Some(outcome) => format!("{}, {outcome}", row.state),
        None => row.state.clone(),
    };
    let facts = [
        ("execution", optional(&row.execution_id)),
        ("call", row.call_id.clone()),
        (
            "agent",
            format!("{} (by {}{issuer})", agent.subject, agent.method),
        ),
        ("tool", format!("{}/{}", row.server, row.tool)),
        ("state", state),
        ("effect boundary", row.effect_boundary.clone()),
        ("rounds", row.rounds.to_string()),
        ("workflow", optional(&row.workflow_id)),
        ("binding", row.binding.clone()),
        ("profile", row.profile.clone()),
        ("reserved", row.reserved.clone()),
        ("changed", row.changed.clone()),
        (
            "last entry",
            format!("{} of {}", row.last.sequence, row.last.log_id),
        ),
    ];
    let mut text = String::new();
    for (name, value) in facts {
        let _ = writeln!(text, "{name:<16} {}", visible(&value));
    }
    text
}

fn entries(log: &[Value]) -> String {
    let mut table = Table::new(["ENTRY", "TIME", "KIND", "SAYS"]);
    for entry in log {
        let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str);
        let says = [
            text("/classification/verdict").or_else(|| text("/classification")),
            text("/refusal"),
            text("/outcome"),
            text("/resolution/operator"),
            text("/resolution/reason"),
        ];
        table.row([
            entry["sequence"].to_string(),
            text("/time").unwrap_or_default().to_owned(),
            text("/kind").unwrap_or_default().to_owned(),
            says.into_iter().flatten().collect::<Vec<_>>().join(", "),
        ]);
    }
    table.to_string()
}
