//! Whether the upstream offers the tool, and what it says of it.

use std::sync::Arc;

use countersign_mcp::mirror::{self, NoForm};
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
    mirrored: Vec<(String, Option<String>)>,
}

impl Offered {
    pub(crate) fn tool(&self) -> &Tool {
        &self.tool
    }

    pub(crate) fn class(&self) -> Class {
        self.class
    }

    /// The headers that mirror arguments, for upstreams that want them.
    pub(crate) fn mirrored(&self) -> &[(String, Option<String>)] {
        &self.mirrored
    }
}

/// Finds the tool, with the upstream ready to be spoken to.
///
/// # Errors
/// `upstream-unavailable`, `unknown-tool`, `header-mismatch` where an argument
/// and the header that mirrors it differ, `execution-id-required` by
/// configuration.
pub(crate) async fn offered(gateway: &Gateway, attempt: &Attempt) -> Result<Offered, Box<Problem>> {
    let Attempt { arrival, bound, .. } = attempt;
    let name = &bound.interpreted.tool;
    let unavailable = |_| Problem::new(ErrorCode::UpstreamUnavailable);
    arrival
        .server
        .upstream
        .ready(&arrival.agent)
        .await
        .map_err(unavailable)?;
    let listing = gateway
        .tools(&arrival.server, &arrival.agent, Need::Tool(name))
        .await
        .map_err(unavailable)?;
    let tool = listing
        .tool(name)
        .ok_or_else(|| Problem::new(ErrorCode::UnknownTool))?;
    let hints = Hints {
        read_only: tool.annotations.read_only,
        destructive: tool.annotations.destructive,
    };
    let class = Class::of(hints);
    let mut declared = Vec::with_capacity(tool.mirrored.len());
    for (header, argument) in &tool.mirrored {
        let value = mirror::value(&bound.interpreted.view, argument)
            .map_err(|NoForm| Problem::new(ErrorCode::HeaderMismatch).because(NoForm::TEXT))?;
        declared.push((header.clone(), value));
    }
    if !attempt.revision.has_sessions() {
        conformity::parameters(&attempt.headers, &declared)
            .map_err(|misfit| Problem::new(misfit.code()).because(misfit.problem()))?;
    }
    let required = match gateway.required {
        Required::Never => false,
        Required::SideEffecting => class != Class::ReadOnly,
        Required::Always => true,
    };
    if required && attempt.execution_id.is_none() {
        return Err(Problem::new(ErrorCode::ExecutionIdRequired).into());
    }
    Ok(Offered {
        tool: Arc::clone(tool),
        class,
        mirrored: declared,
    })
}
