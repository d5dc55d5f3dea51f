//! Whether the upstream offers the tool, and what it says of it.

use std::sync::Arc;

use countersign_canon::View;
use countersign_catalog::Shape;
use countersign_evidence as evidence;
use countersign_mcp::mirror::{self, NoForm};
use countersign_mcp::{ErrorCode, Problem, conformity};
use countersign_policy::Class;
use countersign_schema::Misfit;
use tokio::sync::Semaphore;

use super::attempt::{Arrival, Attempt};
use super::deliver::explained;
use super::overloaded;
use super::refuse::unavailable;
use crate::catalog::approved::{self, Held, Ready, Unheld};
use crate::catalog::{Listing, Need};
use crate::config::Required;
use crate::decisions::Basis;
use crate::limits::Place;
use crate::state::Gateway;
use crate::upstream::Reason;

/// How many calls' arguments may be held against long schemas at once; others
/// wait, and what is short does not.
static LONG: Semaphore = Semaphore::const_new(2);

/// A tool that the upstream offers. Made by [`offered`] alone.
#[derive(Debug)]
pub(crate) struct Offered {
    held: Held,
    digests: evidence::Catalog,
    class: Class,
    mirrored: Vec<(String, Option<mirror::Argument>)>,
    place: Option<Arc<Place>>,
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

    /// The place in which it waited for the server's list, if it had to.
    pub(crate) fn place(&self) -> Option<Arc<Place>> {
        self.place.clone()
    }

    /// The headers that mirror arguments, for upstreams that want them.
    pub(crate) fn mirrored(&self) -> &[(String, Option<mirror::Argument>)] {
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
/// `upstream-unavailable`, `overloaded` where there is no place to wait in,
/// `unknown-tool`, `tool-not-approved`,
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
    let (listing, place) = listing(gateway, attempt).await?;
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
        && let Err(misfit) = fits(ready, &bound.interpreted.view).await
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
        place,
    })
}

/// The list of the server's tools. What is not at hand is waited for in a place,
/// and for as long as the caller wants it.
async fn listing(
    gateway: &Gateway,
    attempt: &Attempt,
) -> Result<(Arc<Listing>, Option<Arc<Place>>), Problem> {
    let Arrival { server, agent, .. } = &attempt.arrival;
    let need = Need::Tool(&attempt.bound.interpreted.tool);
    let now = gateway.environment.monotonic();
    if let Some(listing) = server.catalog.at_hand(&server.upstream, need, now) {
        return Ok((listing, None));
    }
    let place = gateway
        .limits
        .place(agent, &server.name, attempt.execution_id.as_ref())
        .ok_or_else(overloaded)?;
    let listing = gateway.tools(server, agent, need, &attempt.cancel).await;
    match listing {
        Ok(listing) => Ok((listing, Some(place))),
        Err(unready) if unready.reason == Reason::Cancelled => {
            Err(unavailable(unready).because(explained(Reason::Cancelled)))
        }
        Err(unready) => Err(unavailable(unready)),
    }
}

/// Holds arguments against the schema: here where that is little work, and
/// where it holds nobody up otherwise.
async fn fits(ready: &Arc<Ready>, view: &View) -> Result<(), Misfit> {
    if let Some(result) = ready.schema().check_quickly(view) {
        return result;
    }
    let place = LONG.acquire().await;
    let (elsewhere, long) = (Arc::clone(ready), view.clone());
    let checked = tokio::task::spawn_blocking(move || {
        // Held until the work is done, also where nobody waits for it any more.
        let _place = place;
        elsewhere.schema().check(&long)
    });
    match checked.await {
        Ok(result) => result,
        // The pool is gone: the gateway is shutting down.
        Err(_) => ready.schema().check(view),
    }
}
