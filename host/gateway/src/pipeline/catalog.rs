//! Whether the upstream offers the tool, and what it says of it.

use std::sync::Arc;

use countersign_canon::{Value, View};
use countersign_mcp::tools::Tool;
use countersign_mcp::{ErrorCode, Problem, conformity};
use countersign_policy::{Class, Hints};

use super::attempt::Attempt;
use crate::catalog::Need;
use crate::config::Required;
use crate::state::Gateway;

/// A tool that the upstream offers. Made by [`offered`] alone.
#[derive(Debug)]
pub(crate) struct Offered {
    tool: Arc<Tool>,
    class: Class,
}

impl Offered {
    pub(crate) fn tool(&self) -> &Tool {
        &self.tool
    }

    pub(crate) fn class(&self) -> Class {
        self.class
    }
}

/// Finds the tool, with the upstream ready to be spoken to.
///
/// # Errors
/// `upstream-unavailable`, `unknown-tool`, `header-mismatch` where an argument
/// and the header that mirrors it differ, `execution-id-required` by
/// configuration.
pub(crate) async fn offered(gateway: &Gateway, attempt: &Attempt) -> Result<Offered, Problem> {
    let Attempt { arrival, bound, .. } = attempt;
    let name = &bound.interpreted.tool;
    let unavailable = |_| Problem::new(ErrorCode::UpstreamUnavailable);
    arrival.server.upstream.ready(&arrival.agent).await.map_err(unavailable)?;
    let listing = gateway
        .tools(&arrival.server, &arrival.agent, Need::Tool(name))
        .await
        .map_err(unavailable)?;
    let tool = listing.tool(name).ok_or_else(|| Problem::new(ErrorCode::UnknownTool))?;
    let hints = Hints {
        read_only: tool.annotations.read_only,
        destructive: tool.annotations.destructive,
    };
    let class = Class::of(hints);
    if !attempt.revision.has_sessions() {
        let declared: Vec<_> = tool
            .mirrored
            .iter()
            .map(|(header, argument)| (header.clone(), mirrored(&bound.interpreted.view, argument)))
            .collect();
        conformity::parameters(&attempt.headers, &declared)
            .map_err(|misfit| Problem::new(misfit.code()).because(misfit.problem()))?;
    }
    let required = match gateway.required {
        Required::Never => false,
        Required::SideEffecting => class != Class::ReadOnly,
        Required::Always => true,
    };
    if required && attempt.execution_id.is_none() {
        return Err(Problem::new(ErrorCode::ExecutionIdRequired));
    }
    Ok(Offered { tool: Arc::clone(tool), class })
}

/// An argument as a header has it; none where it is absent or null. A number
/// with a fraction, an array or an object has no such form, and equals nothing.
fn mirrored(view: &View, argument: &str) -> Option<String> {
    let value = view.root().get("arguments")?.get(argument)?.value();
    Some(match value {
        Value::Null => return None,
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) if value.unsigned_abs() < 1 << 53 => value.to_string(),
        Value::Text(value) => value.clone(),
        Value::Integer(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            "\u{0}".to_owned()
        }
    })
}
