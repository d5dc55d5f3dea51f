//! The tools that one upstream offers, as they were discovered last.
//!
//! Discovered at first use, again where the upstream says that its list has
//! changed, where a call names a tool that is not on it, and for `tools/list`
//! when the list is older than half a minute. A list that could not be read
//! whole replaces nothing.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use countersign_canon::Digest;
use countersign_evidence::Agent;
use countersign_mcp::tools::{Page, Tool, page};
use countersign_mcp::{Revision, envelope, json::Object};

use crate::delivery::Cancel;
use crate::upstream::{Answer, Exchange, IDENTITY, Reason, Request, Upstream};

/// `tools/list` asks again after this long.
const FRESH: Duration = Duration::from_secs(30);
/// An unknown tool makes the gateway ask again at most this often.
const PATIENCE: Duration = Duration::from_secs(1);
/// A list has at most this many pages.
const MOST_PAGES: usize = 1_000;
/// And at most this many tools.
const MOST_TOOLS: usize = 10_000;

/// One upstream's tools.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    current: RwLock<Option<Arc<Listing>>>,
    discovering: tokio::sync::Mutex<()>,
}

/// A list that was read whole.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    tools: Vec<Arc<Tool>>,
    by_name: HashMap<String, usize>,
    /// Digest of the tools' digests, in order.
    pub(crate) digest: Digest,
    at: Duration,
}

/// What looking gave.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    /// The list in force.
    pub(crate) listing: Arc<Listing>,
    /// Whether it has just been discovered and differs from the one before.
    pub(crate) changed: bool,
}

impl Listing {
    fn new(found: Vec<Tool>, at: Duration) -> Self {
        let mut tools: Vec<Arc<Tool>> = Vec::with_capacity(found.len());
        let mut by_name = HashMap::new();
        let mut ambiguous = Vec::new();
        for tool in found {
            match by_name
                .get(&tool.name)
                .and_then(|at: &usize| tools.get(*at))
            {
                None => {
                    by_name.insert(tool.name.clone(), tools.len());
                    tools.push(Arc::new(tool));
                }
                Some(first) if first.digest == tool.digest => {}
                Some(_) => ambiguous.push(tool.name),
            }
        }
        // Which of two descriptions would hold is anybody's guess, so neither.
        for name in ambiguous {
            by_name.remove(&name);
        }
        tools.retain(|tool| by_name.contains_key(&tool.name));
        by_name = tools
            .iter()
            .enumerate()
            .map(|(at, tool)| (tool.name.clone(), at))
            .collect();
        let digests: Vec<&[u8]> = tools
            .iter()
            .map(|tool| tool.digest.as_str().as_bytes())
            .collect();
        let digest = Digest::of(&digests);
        Self {
            tools,
            by_name,
            digest,
            at,
        }
    }

    /// The tool of exactly that name.
    #[must_use]
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(*self.by_name.get(name)?)
    }

    /// All tools, in the upstream's order.
    #[must_use]
    pub(crate) fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }
}

/// What a list is looked at for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Need<'n> {
    /// All of it.
    List,
    /// One tool.
    Tool(&'n str),
}

impl Catalog {
    /// The list in force; discovered now where `need` asks for it. `now` is
    /// monotonic.
    ///
    /// # Errors
    /// Why the upstream could not be asked, where there is no list at all.
    pub(crate) async fn look(
        &self,
        upstream: &Upstream,
        agent: &Agent,
        need: Need<'_>,
        now: Duration,
    ) -> Result<Looked, Reason> {
        let stale = upstream.take_tools_changed();
        if let Some(listing) = self
            .current()
            .filter(|listing| !stale && serves(listing, need, now))
        {
            return Ok(Looked {
                listing,
                changed: false,
            });
        }
        let _one = self.discovering.lock().await;
        // Another may have discovered while this one waited.
        let before = self.current();
        if let Some(listing) = &before
            && !stale
            && serves(listing, need, now)
        {
            return Ok(Looked {
                listing: Arc::clone(listing),
                changed: false,
            });
        }
        match discover(upstream, agent).await {
            Ok(tools) => {
                let listing = Arc::new(Listing::new(tools, now));
                let changed = before.is_none_or(|before| before.digest != listing.digest);
                *self.current.write().unwrap_or_else(PoisonError::into_inner) =
                    Some(Arc::clone(&listing));
                Ok(Looked { listing, changed })
            }
            Err(reason) => {
                let listing = before.ok_or(reason)?;
                tracing::warn!(
                    reason = reason.as_str(),
                    "tools could not be discovered again"
                );
                Ok(Looked {
                    listing,
                    changed: false,
                })
            }
        }
    }

    fn current(&self) -> Option<Arc<Listing>> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn serves(listing: &Listing, need: Need<'_>, now: Duration) -> bool {
    let age = now.saturating_sub(listing.at);
    match need {
        Need::List => age < FRESH,
        Need::Tool(name) => listing.tool(name).is_some() || age < PATIENCE,
    }
}

async fn discover(upstream: &Upstream, agent: &Agent) -> Result<Vec<Tool>, Reason> {
    let mut tools = Vec::new();
    let mut cursors = Vec::new();
    for _ in 0..MOST_PAGES {
        let Page { tools: more, next } = ask(upstream, agent, cursors.last()).await?;
        tools.extend(more);
        if tools.len() > MOST_TOOLS {
            return Err(Reason::TooLarge);
        }
        match next {
            None => return Ok(tools),
            // A list that leads back into itself has no end.
            Some(next) if cursors.contains(&next) => return Err(Reason::Unreadable),
            Some(next) => cursors.push(next),
        }
    }
    Err(Reason::TooLarge)
}

async fn ask(upstream: &Upstream, agent: &Agent, cursor: Option<&String>) -> Result<Page, Reason> {
    let params = params(upstream.revision(), cursor);
    let body = |id| Some(envelope::message(Some(id), "tools/list", Some(&params)));
    let request = Request {
        method: "tools/list",
        name: None,
        mirrored: &[],
        body: &body,
        gate: None,
        progress: None,
        cancel: Cancel::default(),
    };
    let read = |answer: Answer<'_>| page(answer.ok()?).ok();
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
        for (name, value) in IDENTITY.meta(revision) {
            meta = meta.raw(name, &value);
        }
        params = params.raw("_meta", &meta.finish());
    }
    params.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, text: &str) -> Tool {
        Tool {
            name: name.to_owned(),
            description: text.as_bytes().to_vec(),
            digest: Digest::of(&[text.as_bytes()]),
            annotations: countersign_mcp::tools::Annotations::default(),
            mirrored: Vec::new(),
        }
    }

    #[test]
    fn a_name_with_two_descriptions_is_offered_by_neither() {
        let listing = Listing::new(
            vec![
                tool("a", "1"),
                tool("b", "2"),
                tool("a", "3"),
                tool("b", "2"),
                tool("B", "4"),
            ],
            Duration::ZERO,
        );
        let names: Vec<_> = listing
            .tools()
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        assert_eq!(names, ["b", "B"]);
        assert!(listing.tool("a").is_none());
        assert_eq!(listing.tool("B").unwrap().digest, Digest::of(&[b"4"]));
    }

    #[test]
    fn a_list_serves_while_it_is_fresh_and_a_known_tool_even_after() {
        let listing = Listing::new(vec![tool("a", "1")], Duration::from_secs(10));
        let at = Duration::from_secs;
        assert!(serves(&listing, Need::List, at(39)));
        assert!(!serves(&listing, Need::List, at(40)));
        assert!(serves(&listing, Need::Tool("a"), at(4_000)));
        assert!(serves(&listing, Need::Tool("x"), at(10)));
        assert!(!serves(&listing, Need::Tool("x"), at(11)));
    }
}
