//! Asks an upstream for all of its tools, page by page.

use countersign_evidence::Agent;
use countersign_mcp::tools::{Page, Tool, page};
use countersign_mcp::{Revision, envelope, json::Object};

use crate::delivery::Cancel;
use crate::session::MOST_CURSOR_BYTES;
use crate::upstream::{Answer, Exchange, IDENTITY, Reason, Request, Unready, Upstream};

/// A list has at most this many pages.
const MOST_PAGES: usize = 1_000;
/// And at most this many tools.
const MOST_TOOLS: usize = 10_000;
/// And all its pages together at most this many bytes.
const MOST_BYTES: usize = 16_777_216;

/// Every tool, or none of them; all pages in the time that a list may take.
pub(super) async fn discover(upstream: &Upstream, agent: &Agent) -> Result<Vec<Tool>, Unready> {
    let all = tokio::time::timeout(upstream.list_timeout(), Box::pin(pages(upstream, agent)));
    all.await.unwrap_or(Err(Reason::Timeout.into()))
}

async fn pages(upstream: &Upstream, agent: &Agent) -> Result<Vec<Tool>, Unready> {
    upstream.ready(agent).await?;
    let mut tools = Vec::new();
    let mut cursors = Vec::new();
    let mut left = MOST_BYTES;
    for _ in 0..MOST_PAGES {
        let (Page { tools: more, next }, bytes) = ask(upstream, agent, cursors.last()).await?;
        left = left.checked_sub(bytes).ok_or(Reason::TooLarge)?;
        tools.extend(more);
        if tools.len() > MOST_TOOLS {
            return Err(Reason::TooLarge.into());
        }
        match next {
            None => return Ok(tools),
            Some(next) if next.len() > MOST_CURSOR_BYTES => return Err(Reason::TooLarge.into()),
            // A list that leads back into itself has no end.
            Some(next) if cursors.contains(&next) => return Err(Reason::Unreadable.into()),
            Some(next) => cursors.push(next),
        }
    }
    Err(Reason::TooLarge.into())
}

/// One page, and how many bytes it has.
async fn ask(
    upstream: &Upstream,
    agent: &Agent,
    cursor: Option<&String>,
) -> Result<(Page, usize), Reason> {
    let params = params(upstream.revision(), cursor);
    let body = |id| Some(envelope::message(Some(id), "tools/list", Some(&params)));
    let request = Request {
        method: "tools/list",
        name: None,
        mirrored: &[],
        body: &body,
        gate: None,
        line: None,
        endless: false,
        cancel: Cancel::default(),
    };
    let read = |answer: Answer<'_>| {
        let result = answer.ok()?;
        Some((page(result).ok()?, result.raw().len()))
    };
    match upstream.exchange(agent, request, read).await {
        Exchange::Answered(page) => Ok(page),
        Exchange::NotSent(reason) | Exchange::Unanswered { reason, .. } => Err(reason),
    }
}

fn params(revision: Revision, cursor: Option<&String>) -> Vec<u8> {
    let mut params = Object::new();
    if let Some(cursor) = cursor {
        params = params.text("cursor", cursor);
    }
    if !revision.has_sessions() {
        let mut meta = Object::new();
        for (name, value) in IDENTITY.meta(revision, b"{}") {
            meta = meta.raw(name, &value);
        }
        params = params.raw("_meta", &meta.finish());
    }
    params.finish()
}
