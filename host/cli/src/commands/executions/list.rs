//! `countersign executions list`

use clap::Args;
use countersign_gateway::operator::api;

use super::Where;
use crate::failure::{Failure, Status};
use crate::text::{Table, print};

/// List the executions that are open, oldest first
///
/// Settled ones are not listed; they are found by their name or call.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  listed, if only to say that there is none
  2  wrong usage, nobody answers, or the ledger cannot be asked now")]
pub(crate) struct List {
    #[command(flatten)]
    place: Where,
    /// Only those that wait for an operator; the same as `--state blocked`
    #[arg(long, conflicts_with = "state")]
    blocked: bool,
    /// Only those in this state
    #[arg(
        long,
        value_name = "STATE",
        value_parser = ["in-flight", "awaiting-input", "task-open", "blocked"]
    )]
    state: Option<String>,
    /// Only those of agents with this subject
    #[arg(long, value_name = "SUBJECT")]
    agent: Option<String>,
    /// Only those after this number, which a page ends with
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: i64,
    /// How many at most, up to 1000
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    limit: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let blocked = self.blocked.then(|| "blocked".to_owned());
        let asked = api::List {
            state: blocked.or_else(|| self.state.clone()),
            subject: self.agent.clone(),
            after: self.after,
            limit: Some(self.limit),
        };
        let listed = self.place.ask(|office| office.list(asked))?;
        if self.json {
            return print(&format!("{}\n", serde_json::json!(listed)));
        }
        let mut text = table(&listed.executions);
        if let Some(next) = listed.next {
            text.push_str(&format!("there may be more: --after {next}\n"));
        }
        print(&text)
    }
}

fn table(executions: &[api::Row]) -> String {
    if executions.is_empty() {
        return "no execution is open here\n".to_owned();
    }
    let mut table = Table::new(["STATE", "CHANGED", "AGENT", "EXECUTION", "TOOL", "CALL"]);
    for row in executions {
        table.row([
            row.state.clone(),
            row.changed.clone(),
            row.agent.subject.clone(),
            row.execution_id.clone().unwrap_or_else(|| "-".to_owned()),
            format!("{}/{}", row.server, row.tool),
            row.call_id.clone(),
        ]);
    }
    table.to_string()
}
