//! The tools that one upstream offers, as they were discovered last.
//!
//! Discovered at first use, again where the upstream says that its list has
//! changed or was greeted anew, where a call names a tool that is not on it,
//! and on a poll. A list that could not be read whole replaces nothing.
//! `discover` asks the upstream, `changes` says which changes leave an entry,
//! [`approved`] is what the list is held against, [`office`] serves the operator who approves.

pub(crate) mod approved;
mod changes;
mod discover;
pub mod office;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use countersign_canon::Digest;
use countersign_catalog::{Descriptor, Offer};
use countersign_evidence::Agent;
use countersign_mcp::tools::Tool;

use crate::delivery::Cancel;
use crate::upstream::{Reason, Slot, Unready, Upstream};
use changes::Changes;
use discover::discover;

/// `tools/list` asks again after this long.
const FRESH: Duration = Duration::from_secs(30);
/// An unknown tool makes the gateway ask again at most this often.
const PATIENCE: Duration = Duration::from_secs(1);

/// One upstream's tools.
#[derive(Debug)]
pub(crate) struct Catalog {
    /// The server's name and the digest of where it is.
    place: (String, Digest),
    /// How old a list may be that a poll finds.
    poll: Duration,
    current: RwLock<Option<Arc<Listing>>>,
    /// Who asked last: in whose session a poll asks.
    asked: RwLock<Option<Agent>>,
    discovering: Slot<()>,
    /// Of how many changes the upstream had told when the list in force was asked
    /// for. One that it tells of later outdates the list until another was read.
    seen: AtomicU64,
    pub(crate) changes: Changes,
}

/// A list that was read whole.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    tools: Vec<Arc<Tool>>,
    by_name: HashMap<String, usize>,
    /// All of them, as they are compared and pinned.
    pub(crate) offer: Offer,
    /// The checkpoint of that offer.
    pub(crate) digest: Digest,
    at: Duration,
}

/// What looking gave.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    /// The list in force.
    pub(crate) listing: Arc<Listing>,
    /// Whether it has just been discovered and differs from the one before, or
    /// is the first.
    pub(crate) changed: bool,
    /// Whether there was one before from which it differs.
    pub(crate) renewed: bool,
}

impl Looked {
    /// Nothing new.
    fn known(listing: Arc<Listing>) -> Self {
        Self {
            listing,
            changed: false,
            renewed: false,
        }
    }
}

impl Listing {
    fn new(name: &str, server: Digest, found: Vec<Tool>, at: Duration) -> Self {
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
        let described = tools
            .iter()
            .filter_map(|tool| Descriptor::read(&tool.description).ok());
        let offer = Offer::new(name, server, described);
        let digest = offer.checkpoint();
        Self {
            tools,
            by_name,
            offer,
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
    /// Whether anything has changed.
    Poll,
}

impl Catalog {
    /// Nothing is known yet of the server with that name and digest.
    pub(crate) fn new(name: &str, server: Digest, poll: Duration) -> Self {
        Self {
            place: (name.to_owned(), server),
            poll,
            current: RwLock::default(),
            asked: RwLock::default(),
            discovering: Slot::default(),
            seen: AtomicU64::new(0),
            changes: Changes::default(),
        }
    }

    /// Who asked last; nobody has, as long as the server was not used.
    pub(crate) fn asked(&self) -> Option<Agent> {
        self.asked
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Whether a poll would ask now.
    pub(crate) fn is_due(&self, now: Duration) -> bool {
        self.current()
            .is_some_and(|listing| !self.serves(&listing, Need::Poll, now))
    }

    /// Whether the upstream told of a change since the list in force was asked for.
    pub(crate) fn is_outdated(&self, upstream: &Upstream) -> bool {
        upstream.tools_changes() != self.seen.load(Ordering::SeqCst)
    }

    /// The list in force, where it serves as it is: nobody is asked for it.
    pub(crate) fn at_hand(
        &self,
        upstream: &Upstream,
        need: Need<'_>,
        now: Duration,
    ) -> Option<Arc<Listing>> {
        self.current()
            .filter(|listing| !self.is_outdated(upstream) && self.serves(listing, need, now))
    }

    /// The list in force; discovered now where `need` asks for it. `now` is
    /// monotonic. Whoever waits for another's discovery waits as long as one may
    /// take, and attempts nothing where it fails.
    ///
    /// # Errors
    /// Why the upstream could not be asked, where there is no list at all, or a tool
    /// is wanted and the upstream has told of a change; [`Reason::Cancelled`] where `cancel` says so before there is one.
    pub(crate) async fn look(
        &self,
        upstream: &Upstream,
        agent: &Agent,
        need: Need<'_>,
        now: Duration,
        cancel: &Cancel,
    ) -> Result<Looked, Unready> {
        let known = self.asked();
        if !matches!(need, Need::Poll) && known.as_ref() != Some(agent) {
            *self.asked.write().unwrap_or_else(PoisonError::into_inner) = Some(agent.clone());
        }
        if let Some(listing) = self.at_hand(upstream, need, now) {
            return Ok(Looked::known(listing));
        }
        // On the heap: it is rare, and would be part of every call otherwise.
        let renewed = Box::pin(self.renew(upstream, agent, need, now));
        tokio::select! {
            biased;
            () = cancel.requested() => Err(Reason::Cancelled.into()),
            looked = renewed => looked,
        }
    }

    async fn renew(
        &self,
        upstream: &Upstream,
        agent: &Agent,
        need: Need<'_>,
        now: Duration,
    ) -> Result<Looked, Unready> {
        let within = upstream.list_timeout();
        let turn = tokio::time::timeout(within, self.discovering.turn()).await;
        // Another may have discovered while this one waited.
        let before = self.current();
        let heard = upstream.tools_changes();
        let outdated = self.is_outdated(upstream);
        if let Some(listing) = &before
            && !outdated
            && self.serves(listing, need, now)
        {
            return Ok(Looked::known(Arc::clone(listing)));
        }
        let found = match &turn {
            Ok(turn) => turn.attempt_more(within, discover(upstream, agent)).await,
            Err(_) => Err(Unready::from(Reason::Timeout).of_another()),
        };
        match found {
            Ok(tools) => {
                let listing = Arc::new(Listing::new(&self.place.0, self.place.1, tools, now));
                let differs = before.map(|before| before.digest != listing.digest);
                *self.current.write().unwrap_or_else(PoisonError::into_inner) =
                    Some(Arc::clone(&listing));
                self.seen.store(heard, Ordering::SeqCst);
                Ok(Looked {
                    listing,
                    changed: differs.unwrap_or(true),
                    renewed: differs.unwrap_or(false),
                })
            }
            // What is known to have changed, and not what into, decides no call.
            Err(unready) if outdated && matches!(need, Need::Tool(_)) => Err(unready),
            Err(unready) => {
                let listing = before.ok_or(unready)?;
                tracing::warn!(
                    reason = unready.reason.as_str(),
                    "tools could not be discovered again"
                );
                Ok(Looked::known(listing))
            }
        }
    }

    /// The checkpoint of the list that was discovered last.
    pub(crate) fn digest(&self) -> Option<Digest> {
        self.current().map(|listing| listing.digest)
    }

    fn serves(&self, listing: &Listing, need: Need<'_>, now: Duration) -> bool {
        let age = now.saturating_sub(listing.at);
        match need {
            Need::List => age < FRESH,
            Need::Tool(name) => listing.tool(name).is_some() || age < PATIENCE,
            Need::Poll => age < self.poll,
        }
    }

    /// The list that was discovered last.
    pub(crate) fn current(&self) -> Option<Arc<Listing>> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, text: &str) -> Tool {
        Tool {
            name: name.to_owned(),
            description: format!("{{\"name\":\"{name}\",\"title\":\"{text}\"}}").into_bytes(),
            digest: Digest::of(&[text.as_bytes()]),
            annotations: countersign_mcp::tools::Annotations::default(),
            mirrored: Vec::new(),
        }
    }

    #[test]
    fn a_name_with_two_descriptions_is_offered_by_neither() {
        let listing = Listing::new(
            "up",
            Digest::of(&[b"place"]),
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
        let place = Digest::of(&[b"place"]);
        let catalog = Catalog::new("up", place, Duration::from_secs(5));
        let listing = Listing::new("up", place, vec![tool("a", "1")], Duration::from_secs(10));
        let at = Duration::from_secs;
        let serves = |listing: &Listing, need: Need<'_>, now| catalog.serves(listing, need, now);
        assert!(serves(&listing, Need::Poll, at(14)));
        assert!(!serves(&listing, Need::Poll, at(15)));
        assert!(serves(&listing, Need::List, at(39)));
        assert!(!serves(&listing, Need::List, at(40)));
        assert!(serves(&listing, Need::Tool("a"), at(4_000)));
        assert!(serves(&listing, Need::Tool("x"), at(10)));
        assert!(!serves(&listing, Need::Tool("x"), at(11)));
    }
}
