//! Whether the upstream offers the tool, and what it says of it.

use countersign_catalog::Shape;
use countersign_evidence as evidence;
use countersign_mcp::mirror::{self, NoForm};
use countersign_mcp::{ErrorCode, Problem, conformity};
use countersign_policy::Class;

use super::attempt::Attempt;
use super::refuse::unavailable;
use crate::catalog::Need;
use crate::catalog::approved::{self, Held, Unheld};
use crate::config::Required;
use crate::decisions::Basis;
use crate::state::Gateway;

/// A tool that the upstream offers. Made by [`offered`] alone.
#[derive(Debug)]
pub(crate) struct Offered {
    held: Held,
    digests: evidence::Catalog,
    class: Class,
    mirrored: Vec<(String, Option<String>)>,
}

impl Offered {
    /// What of its arguments has one type, by what was approved.
    pub(crate) fn shape(&self) -> Option<&Shape> {
        self.held.approved.as_ref().and_then(|ready| ready.shape())
    }

    /// As it was discovered, approved, and taken to be.
    pub(crate) fn digests(&self) -> evidence::Catalog {
        self.digests
    }

    pub(crate) fn class(&self) -> Class {
        self.class
    }

    /// The headers that mirror arguments, for upstreams that want them.
    pub(crate) fn mirrored(&self) -> &[(String, Option<String>)] {
        &self.mirrored
    }
}

/// Why a call does not get so far, and which digests were met.
#[derive(Debug)]
pub(crate) struct NotOffered {
    pub(crate) problem: Problem,
    pub(crate) digests: evidence::Catalog,
}

impl From<Problem> for Box<NotOffered> {
    fn from(problem: Problem) -> Self {
        Self::new(NotOffered {
            problem,
            digests: evidence::Catalog::default(),
        })
    }
}

/// Finds the tool, with the upstream ready to be spoken to, and holds the
/// arguments against its schema.
///
/// # Errors
/// `upstream-unavailable`, `unknown-tool`, `tool-not-approved`,
/// `catalog-drift`, `header-mismatch` where an argument and the header that
/// mirrors it differ, `execution-id-required` by configuration,
/// `arguments-invalid`.
pub(crate) async fn offered(
    gateway: &Gateway,
    basis: &Basis,
    attempt: &Attempt,
) -> Result<Offered, Box<NotOffered>> {
    let Attempt { arrival, bound, .. } = attempt;
    let name = &bound.interpreted.tool;
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
    let server = arrival.server.name.as_str();
    let held = basis
        .approved
        .held(server, arrival.server.digest, name, &listing);
    let digests = basis.approved.digests(server, &listing, held.as_ref().ok());
    let refused = |problem| Box::new(NotOffered { problem, digests });
    let held = held.map_err(|unheld| {
        refused(Problem::new(match unheld {
            Unheld::Unknown => ErrorCode::UnknownTool,
            Unheld::NotApproved => ErrorCode::ToolNotApproved,
            Unheld::Drifted => ErrorCode::CatalogDrift,
        }))
    })?;
    let tool = &held.tool;
    let class = approved::class(tool);
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
        return Err(refused(Problem::new(ErrorCode::ExecutionIdRequired)));
    }
    if let Some(ready) = &held.approved
        && let Err(misfit) = ready.schema().check(&bound.interpreted.view)
    {
        let mut problem = Problem::new(ErrorCode::ArgumentsInvalid);
        problem.misfit = Some((misfit.pointer, misfit.keyword));
        return Err(refused(problem));
    }
    Ok(Offered {
        held,
        digests,
        class,
        mirrored: declared,
    })
}
