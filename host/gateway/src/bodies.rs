//! What all bodies together may take of memory, and a share of it for each agent.
//!
//! A body is counted as it arrives, and for as long as anybody holds its bytes. A
//! call gives its own up once it is reserved, so that its repeats find room to be
//! classified while a slow server is at work; what is passed on keeps its own. The
//! actions of calls in flight have as much room again. What goes out is counted
//! apart, until its client has taken it ([`Account`]). An answer is never turned
//! away, as what it tells of has happened; whoever leaves too many of them where
//! they are asks for nothing more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use countersign_canon::Limits;
use countersign_evidence::Agent;

use crate::counts::release;

/// The bytes that are held.
#[derive(Debug)]
pub(crate) struct Bodies {
    most: usize,
    /// Of these, by one agent; a whole message at least.
    share: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    agents: HashMap<Agent, usize>,
}

/// What one body takes; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    bodies: Arc<Bodies>,
    agent: Agent,
    bytes: usize,
}

/// Where what goes out to one agent is counted.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    bodies: Arc<Bodies>,
    agent: Agent,
}

/// A body with its room.
struct Kept {
    bytes: Bytes,
    _room: Room,
}

impl Bodies {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let message = usize::try_from(Limits::STANDARD.message_bytes).unwrap_or(usize::MAX);
        Arc::new(Self {
            most,
            share: most.div_ceil(4).max(message),
            held: Mutex::default(),
        })
    }

    /// Room for a body of an agent, which has none yet.
    pub(crate) fn room(self: &Arc<Self>, agent: &Agent) -> Room {
        Room {
            bodies: Arc::clone(self),
            agent: agent.clone(),
            bytes: 0,
        }
    }

    /// Where what goes out to an agent is counted.
    pub(crate) fn account(self: &Arc<Self>, agent: &Agent) -> Account {
        Account {
            bodies: Arc::clone(self),
            agent: agent.clone(),
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// Takes so many bytes more; false where there are not so many.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let mut held = self.bodies.held();
        let all = held.all.saturating_add(bytes);
        let own = held.agents.get(&self.agent).copied().unwrap_or_default();
        let own = own.saturating_add(bytes);
        if all > self.bodies.most || own > self.bodies.share {
            return false;
        }
        held.all = all;
        held.agents.insert(self.agent.clone(), own);
        self.bytes = self.bytes.saturating_add(bytes);
        true
    }

    /// Takes so many bytes more, whether there are so many or not.
    pub(crate) fn add(&mut self, bytes: usize) {
        let mut held = self.bodies.held();
        held.all = held.all.saturating_add(bytes);
        let own = held.agents.entry(self.agent.clone()).or_default();
        *own = own.saturating_add(bytes);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// The bytes, which hold their room until the last of them is gone.
    pub(crate) fn keep(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Kept { bytes, _room: self })
    }
}

impl Account {
    /// Room for so many bytes; none where there is not so much left.
    pub(crate) fn take(&self, bytes: usize) -> Option<Room> {
        let mut room = self.bodies.room(&self.agent);
        room.take(bytes).then_some(room)
    }

    /// Room for so many bytes, whether it is left or not.
    pub(crate) fn add(&self, bytes: usize) -> Room {
        let mut room = self.bodies.room(&self.agent);
        room.add(bytes);
        room
    }

    /// Whether nothing is left.
    pub(crate) fn is_full(&self) -> bool {
        let held = self.bodies.held();
        let own = held.agents.get(&self.agent).copied().unwrap_or_default();
        held.all >= self.bodies.most || own >= self.bodies.share
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut held = self.bodies.held();
        held.all = held.all.saturating_sub(self.bytes);
        release(&mut held.agents, &self.agent, self.bytes);
    }
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::agent;

    #[test]
    fn an_agent_takes_its_share_and_all_together_what_there_is() {
        const MIB: usize = 1 << 20;
        let bodies = Bodies::new(100 * MIB);
        let mut rooms: Vec<Room> = ["a", "b", "c", "d", "e"]
            .map(|name| bodies.room(&agent(name)))
            .into();
        let takes: Vec<bool> = rooms.iter_mut().map(|room| room.take(25 * MIB)).collect();
        assert_eq!(takes, [true, true, true, true, false]);
        assert!(!bodies.room(&agent("a")).take(1), "over its share");
        rooms.remove(0);
        assert!(rooms[3].take(25 * MIB), "what was given back");
        assert!(!bodies.room(&agent("f")).take(1), "there is no more");
        drop(rooms);
        let held = bodies.held();
        assert_eq!((held.all, held.agents.len()), (0, 0));
    }

    #[test]
    fn what_goes_out_is_counted_over_the_share_and_then_nothing_more_is_asked_for() {
        const MIB: usize = 1 << 20;
        let bodies = Bodies::new(40 * MIB);
        let (a, b) = (bodies.account(&agent("a")), bodies.account(&agent("b")));
        let first = a.add(9 * MIB);
        assert!(!a.is_full() && a.take(2 * MIB).is_none());
        let second = a.add(9 * MIB);
        assert!(a.is_full() && !b.is_full());
        let third = a.add(22 * MIB);
        assert!(b.is_full(), "there is no more");
        drop((first, second, third));
        assert!(!a.is_full() && !b.is_full());
        assert!(bodies.held().agents.is_empty());
    }

    #[test]
    fn a_share_is_a_whole_message_at_least() {
        let bodies = Bodies::new(10_485_760);
        assert!(bodies.room(&agent("a")).take(10_485_760));
    }

    #[test]
    fn bytes_hold_their_room_until_the_last_of_them_is_gone() {
        let bodies = Bodies::new(100 << 20);
        let mut room = bodies.room(&agent("a"));
        assert!(room.take(3));
        let bytes = room.keep(Bytes::from_static(b"{} "));
        let part = bytes.slice(1..2);
        assert_eq!(bytes, b"{} "[..]);
        drop(bytes);
        assert_eq!(bodies.held().all, 3);
        drop(part);
        assert_eq!(bodies.held().all, 0);
    }
}
