//! All sessions that are open, by what their clients hold.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_evidence::{Agent, ServerName};

use super::Session;
use super::wanted::Wanted;

/// Sessions of one agent that are looked at for one without a stream, before one
/// with a stream makes room.
const MOST_LOOKED: usize = 64;

/// All sessions that are open.
#[derive(Debug)]
pub(crate) struct Sessions {
    most: usize,
    table: Mutex<Table>,
    pub(super) wanted: Wanted,
}

/// The sessions, and in which order they make room.
#[derive(Debug, Default)]
struct Table {
    open: HashMap<String, Arc<Session>>,
    /// Each agent's sessions, the one that was used longest ago first.
    agents: HashMap<Agent, BTreeMap<u64, String>>,
    /// The agents that have any: who has most first, and of those who have as many
    /// the one whose session was used longest ago.
    ranks: BTreeMap<(Reverse<usize>, u64), Agent>,
    uses: u64,
}

impl Sessions {
    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.table().open.len()
    }

    /// No sessions yet, and at most `most`.
    #[must_use]
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            table: Mutex::default(),
            wanted: Wanted::default(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session under a secret that nobody can guess. Where there are as
    /// many as there may be, one that is idle ends, since clients go away without
    /// saying so; false where none is idle. It is one of the same agent's, or else
    /// of the agent that has most: nobody ends another's by opening many.
    pub(crate) fn open(&self, secret: &str, session: Session) -> bool {
        let mut table = self.table();
        if table.open.len() >= self.most {
            let Some(idle) = table.dispensable(&session.agent).secret else {
                return false;
            };
            if let Some(ended) = table.remove(&idle) {
                self.wanted.end(&ended);
            }
        }
        table.insert(secret, session);
        true
    }

    /// The session that `secret` names, if it is this agent's with this server.
    #[must_use]
    pub(crate) fn find(
        &self,
        secret: &str,
        agent: &Agent,
        server: &ServerName,
    ) -> Option<Arc<Session>> {
        self.table().find(secret, agent, server)
    }

    /// Ends a session; false where there is none for this agent.
    pub(crate) fn end(&self, secret: &str, agent: &Agent, server: &ServerName) -> bool {
        let mut table = self.table();
        if table.find(secret, agent, server).is_none() {
            return false;
        }
        let ended = table.remove(secret);
        if let Some(session) = &ended {
            self.wanted.end(session);
        }
        ended.is_some()
    }
}

/// What makes room.
#[derive(Debug, Default)]
struct Dispensable {
    /// None where nothing is idle.
    secret: Option<String>,
    /// How many sessions were looked at.
    looked: usize,
}

impl Table {
    fn insert(&mut self, secret: &str, session: Session) {
        let agent = session.agent.clone();
        self.open.insert(secret.to_owned(), Arc::new(session));
        self.order(&agent, |table, own| table.put(own, secret));
    }

    fn remove(&mut self, secret: &str) -> Option<Arc<Session>> {
        let session = self.open.remove(secret)?;
        let used = session.used.load(Ordering::Relaxed);
        self.order(&session.agent, |_, own| {
            own.remove(&used);
        });
        Some(session)
    }

    fn find(&mut self, secret: &str, agent: &Agent, server: &ServerName) -> Option<Arc<Session>> {
        let session = self.open.get(secret)?;
        if session.agent != *agent || session.server != *server {
            return None;
        }
        let session = Arc::clone(session);
        let used = session.used.load(Ordering::Relaxed);
        self.order(agent, |table, own| {
            own.remove(&used);
            table.put(own, secret);
        });
        Some(session)
    }

    /// Puts a session behind all others of its agent: it is used now.
    fn put(&mut self, own: &mut BTreeMap<u64, String>, secret: &str) {
        self.uses += 1;
        if let Some(session) = self.open.get(secret) {
            session.used.store(self.uses, Ordering::Relaxed);
        }
        own.insert(self.uses, secret.to_owned());
    }

    /// Changes an agent's order, and its rank with it.
    fn order(&mut self, agent: &Agent, change: impl FnOnce(&mut Self, &mut BTreeMap<u64, String>)) {
        let mut own = self.agents.remove(agent).unwrap_or_default();
        if let Some(rank) = rank(&own) {
            self.ranks.remove(&rank);
        }
        change(self, &mut own);
        if let Some(rank) = rank(&own) {
            self.ranks.insert(rank, agent.clone());
            self.agents.insert(agent.clone(), own);
        }
    }

    /// An agent's sessions, the one that was used longest ago first.
    fn of(&self, agent: &Agent) -> impl Iterator<Item = (&String, &Arc<Session>)> {
        let own = self
            .agents
            .get(agent)
            .into_iter()
            .flat_map(BTreeMap::values);
        own.filter_map(|secret| Some((secret, self.open.get(secret)?)))
    }

    /// The idle session that makes room for another one of `agent`: where there is
    /// a choice, one without a stream, and the one that was used longest ago.
    fn dispensable(&self, agent: &Agent) -> Dispensable {
        let others = self.ranks.values().filter(|other| *other != agent);
        let mut found = Dispensable::default();
        for agent in std::iter::once(agent).chain(others) {
            for (looked, (secret, session)) in self.of(agent).enumerate() {
                if found.secret.is_some() && looked >= MOST_LOOKED {
                    break;
                }
                found.looked += 1;
                if !session.is_idle() {
                    continue;
                }
                let listening = session.is_listening();
                if found.secret.is_none() || !listening {
                    found.secret = Some(secret.clone());
                }
                if !listening {
                    break;
                }
            }
            if found.secret.is_some() {
                break;
            }
        }
        found
    }
}

/// Where an agent with these sessions stands; nowhere without any.
fn rank(own: &BTreeMap<u64, String>) -> Option<(Reverse<usize>, u64)> {
    let (oldest, _) = own.first_key_value()?;
    Some((Reverse(own.len()), *oldest))
}

#[cfg(test)]
mod tests {
    use countersign_canon::Id;

    use super::super::tests::session;
    use super::*;

    #[test]
    fn a_session_exists_for_its_agent_and_server_alone_until_it_ends() {
        let sessions = Sessions::new(1);
        let (x, y): (ServerName, ServerName) = ("x".parse().unwrap(), "y".parse().unwrap());
        let session = || session(0, "a");
        let a = session().agent().clone();
        let b = super::super::tests::session(0, "b").agent().clone();
        assert!(sessions.open("r", session()));
        assert!(
            sessions.open("s", session()),
            "the one that is idle makes room"
        );
        assert!(sessions.find("r", &a, &x).is_none());
        let busy = sessions.find("s", &a, &x).unwrap().claim(&Id::Number(1));
        assert!(
            !sessions.open("t", session()),
            "one with a request does not"
        );
        drop(busy);
        assert!(sessions.find("s", &a, &x).is_some());
        assert!(sessions.find("s", &b, &x).is_none());
        assert!(sessions.find("s", &a, &y).is_none());
        assert!(!sessions.end("s", &b, &x));
        assert!(sessions.end("s", &a, &x));
        assert!(sessions.find("s", &a, &x).is_none());
    }

    #[test]
    fn the_session_that_was_idle_longest_makes_room_and_ends() {
        let sessions = Sessions::new(2);
        let x: ServerName = "x".parse().unwrap();
        let session = |number| session(number, "a");
        let a = session(0).agent().clone();
        assert!(sessions.open("r", session(1)) && sessions.open("s", session(2)));
        let oldest = sessions.find("s", &a, &x).unwrap();
        // Opened first, and used last.
        assert!(sessions.find("r", &a, &x).is_some());
        assert!(sessions.open("t", session(3)));
        assert!(sessions.find("s", &a, &x).is_none());
        assert!(sessions.find("r", &a, &x).is_some());
        assert_eq!(oldest.take_stream().0, 0, "it has ended");
        let ended = sessions.find("r", &a, &x).unwrap();
        assert!(sessions.end("r", &a, &x));
        assert_eq!(ended.take_stream().0, 0, "so has this one");
    }

    #[test]
    fn an_agent_that_opens_many_ends_its_own_and_nobody_elses() {
        let sessions = Sessions::new(4);
        let x: ServerName = "x".parse().unwrap();
        let [a, b] = ["a", "b"].map(|name| session(0, name).agent().clone());
        assert!(sessions.open("b", session(0, "b")));
        for number in 1..10 {
            let secret = format!("a{number}");
            assert!(sessions.open(&secret, session(number, "a")));
            assert!(sessions.find(&secret, &a, &x).is_some());
        }
        assert_eq!(sessions.count(), 4);
        assert!(sessions.find("b", &b, &x).is_some());
        // One that has none takes the place of whoever has most.
        assert!(sessions.open("c", session(10, "c")));
        assert!(sessions.find("b", &b, &x).is_some());
        assert!(sessions.find("a7", &a, &x).is_none());
    }

    #[test]
    fn a_session_without_a_stream_makes_room_before_one_that_has_one() {
        let sessions = Sessions::new(2);
        let x: ServerName = "x".parse().unwrap();
        let a = session(0, "a").agent().clone();
        assert!(sessions.open("r", session(1, "a")) && sessions.open("s", session(2, "a")));
        let stream = sessions.find("r", &a, &x).unwrap().take_stream();
        assert!(sessions.find("s", &a, &x).is_some());
        assert!(sessions.open("t", session(3, "a")));
        assert!(sessions.find("r", &a, &x).is_some(), "used longest ago");
        drop(stream);
        let _later = sessions.find("t", &a, &x).unwrap();
        assert!(sessions.find("s", &a, &x).is_none());
    }

    /// The same table without any order: a list in which everything is looked at.
    #[derive(Default)]
    struct Plain(Vec<(String, Arc<Session>)>);

    impl Plain {
        /// What makes room for another one of `agent`, the list being in the order
        /// of use.
        fn dispensable(&self, agent: &Agent) -> Option<String> {
            let count = |of: &Agent| self.0.iter().filter(|(_, s)| s.agent == *of).count();
            let oldest = |of: &Agent| self.0.iter().position(|(_, s)| s.agent == *of);
            let idle = self.0.iter().filter(|(_, session)| session.is_idle());
            let first = idle.min_by_key(|(_, session)| {
                let of = &session.agent;
                let rank = (of != agent, Reverse(count(of)), oldest(of));
                (rank, session.is_listening())
            });
            first.map(|(secret, _)| secret.clone())
        }
    }

    #[test]
    fn what_makes_room_is_what_looking_at_everything_would_find() {
        let x: ServerName = "x".parse().unwrap();
        let mut random = 7_u64;
        let mut next = |below: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % below
        };
        let (mut table, mut plain) = (Table::default(), Plain::default());
        let (mut streams, mut claims) = (HashMap::new(), HashMap::new());
        for step in 0..4_000 {
            let most = next(4) + 1;
            let name = ["a", "b", "c", "d"][usize::try_from(next(most)).unwrap()];
            let at = usize::try_from(next(40)).unwrap();
            let known = plain
                .0
                .get(at)
                .map(|(secret, session)| (secret.clone(), Arc::clone(session)));
            match (next(8), known) {
                (0..3, _) if plain.0.len() < 40 => {
                    let secret = format!("s{step}");
                    table.insert(&secret, session(1, name));
                    plain
                        .0
                        .push((secret.clone(), Arc::clone(&table.open[&secret])));
                }
                (3, Some((secret, session))) => {
                    assert!(table.find(&secret, session.agent(), &x).is_some());
                    let used = plain.0.remove(at);
                    plain.0.push(used);
                }
                (4, Some((secret, session))) => {
                    streams.insert(secret, session.take_stream().1);
                }
                (5, Some((secret, session))) => {
                    claims
                        .entry(secret)
                        .or_insert_with(|| session.claim(&Id::Number(1)));
                }
                (6, Some((secret, _))) => {
                    streams.remove(&secret);
                    claims.remove(&secret);
                }
                (7, Some((secret, _))) => {
                    plain.0.remove(at);
                    assert!(table.remove(&secret).is_some());
                }
                _ => {}
            }
            let agent = session(0, name).agent().clone();
            assert_eq!(
                table.dispensable(&agent).secret,
                plain.dispensable(&agent),
                "{step}"
            );
            let ordered: usize = table.agents.values().map(BTreeMap::len).sum();
            assert_eq!((ordered, table.open.len()), (plain.0.len(), plain.0.len()));
            assert_eq!(table.ranks.len(), table.agents.len());
        }
    }

    #[test]
    fn few_are_looked_at_however_many_there_are() {
        let mut table = Table::default();
        let mut streams = Vec::new();
        for number in 0..5_000 {
            let name = ["a", "b"][number % 2];
            table.insert(&format!("s{number}"), session(1, name));
        }
        for name in ["a", "b", "c"] {
            let agent = session(0, name).agent().clone();
            assert_eq!(table.dispensable(&agent).looked, 1, "{name}");
        }
        // All that were opened first have streams.
        for number in 0..4_900 {
            streams.push(table.open[&format!("s{number}")].take_stream());
        }
        let agent = session(0, "a").agent().clone();
        let found = table.dispensable(&agent);
        assert_eq!(
            (found.secret.as_deref(), found.looked),
            (Some("s0"), MOST_LOOKED)
        );
        // Those with requests are passed over.
        let claims: Vec<_> = (0..400)
            .map(|number| table.open[&format!("s{number}")].claim(&Id::Number(1)))
            .collect();
        let found = table.dispensable(&agent);
        assert_eq!((found.secret.as_deref(), found.looked), (Some("s400"), 201));
        drop(claims);
    }
}
