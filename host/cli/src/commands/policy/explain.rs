//! `countersign policy explain`: why one message is decided as it is.

use std::fmt::Write as _;

use clap::Args;
use countersign_policy::{Class, Identity, OwnedAgent, Request, Tool};

use super::Policies;
use crate::failure::{Failure, Status};
use crate::profiles::{self, ProfileOptions};
use crate::text::visible;
use crate::{input, text};

/// Say how a `tools/call` message is decided, and by which policies
///
/// By policies alone: whether the tool is approved, whether the arguments fit
/// its input schema, whether the configuration requires an `execution_id`, and
/// what became of the execution is not looked at.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status:
  0  it is permitted
  1  it is denied, or the policies do not hold
  2  wrong usage, or a file that cannot be read
  3  the message is refused
  4  the profile cannot be loaded or is at fault")]
pub(crate) struct Explain {
    #[command(flatten)]
    policies: Policies,
    #[command(flatten)]
    profile: ProfileOptions,
    /// The server that is called
    #[arg(long, value_name = "NAME")]
    server: String,
    /// Who calls, as policies name it: method, issuer and subject, joined by
    /// `/`, with `%2F` for a slash and `%25` for a percent sign in one of them
    #[arg(long, value_name = "AGENT", default_value = "token/countersign/ci")]
    agent: OwnedAgent,
    /// What the tool counts as, where it is not approved
    #[arg(long, value_name = "CLASS", default_value = "side-effecting")]
    class: Class,
    /// The protocol revision
    #[arg(long, value_name = "REVISION", default_value = "2025-11-25")]
    revision: String,
    /// The message; `-` is the standard input
    #[arg(default_value = "-")]
    file: String,
}

impl Explain {
    pub(crate) fn run(&self) -> Result<Status, Failure> {
        let loaded = self.policies.load()?;
        let profile = self.profile.load()?;
        let message = input::message(&self.file)?;
        let bound =
            profiles::bind(&profile, &message).map_err(|unbound| unbound.into_failure(None))?;
        let name = &bound.meaning.tool;
        let approved = loaded.tool(&self.server, name);
        let tool = Tool {
            server: &self.server,
            name,
            class: approved.map_or(self.class, |tool| tool.class),
        };
        let call = &bound.call;
        let decision = loaded.set.decide(&Request {
            agent: self.agent.agent(),
            identity: Identity::default(),
            tool,
            view: &bound.meaning.view,
            shape: approved.and_then(|tool| tool.shape.as_ref()),
            execution_id: call.execution_id.as_deref(),
            workflow_id: call.workflow_id.as_deref(),
            client: &call.client,
            continuation: call.continuation.as_ref().map(|c| c.canonical.as_slice()),
            revision: &self.revision,
        });
        let mut shown = String::new();
        // Writing to a string cannot fail.
        let code = decision.code().map(|code| format!(" ({code})"));
        let _ = writeln!(
            shown,
            "{}/{} as {}: {}{}",
            self.server,
            visible(name),
            tool.class,
            decision.reason(),
            code.unwrap_or_default()
        );
        for id in decision.determining() {
            if let Some((file, line, text)) = loaded.set.origin(id) {
                let _ = writeln!(shown, "\ndetermined by `{id}`, {file}:{line}");
                for line in text.lines() {
                    let _ = writeln!(shown, "  {}", visible(line));
                }
            }
        }
        let _ = writeln!(shown, "\nlooked at:");
        for id in loaded.set.applicable(tool) {
            let _ = writeln!(shown, "  {id}");
        }
        text::print(&shown)?;
        Ok(if decision.allow() {
            Status::OK
        } else {
            Status::DOES_NOT_HOLD
        })
    }
}
