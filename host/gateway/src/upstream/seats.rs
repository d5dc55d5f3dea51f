//! The agents' places at one upstream: a session or a process for each, so many
//! and no more.
//!
//! Where there are as many as there may be, the one that nobody has used for the
//! longest makes room, and where all are in use whoever comes is refused. In use
//! is what somebody holds: a request, or a client's own stream.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_evidence::Agent;
use tokio::time::Instant;

use super::request::Reason;

/// A place that nobody has used for so long is given up.
pub(super) const IDLE: Duration = Duration::from_secs(3_600);

/// The places, by whose they are.
#[derive(Debug)]
pub(super) struct Seats<T> {
    most: usize,
    taken: Mutex<HashMap<Agent, Arc<Seat<T>>>>,
}

#[derive(Debug)]
struct Seat<T> {
    /// Since when nobody has it.
    left: Mutex<Instant>,
    place: T,
}

/// A place while somebody uses it.
#[derive(Debug)]
pub(crate) struct Seated<T>(Arc<Seat<T>>);

impl<T: Default> Seats<T> {
    /// None yet, and at most `most`.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            taken: Mutex::default(),
        }
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<Agent, Arc<Seat<T>>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent's place, where it has one.
    pub(super) fn find(&self, agent: &Agent) -> Option<Seated<T>> {
        self.taken().get(agent).cloned().map(Seated)
    }

    /// The agent's place, a new one where it has none, and the one that was given
    /// up for it.
    ///
    /// # Errors
    /// [`Reason::Crowded`] where all are in use.
    pub(super) fn take(&self, agent: &Agent) -> Result<(Seated<T>, Option<T>), Reason> {
        let mut taken = self.taken();
        if let Some(seat) = taken.get(agent) {
            return Ok((Seated(Arc::clone(seat)), None));
        }
        let given_up = if taken.len() < self.most {
            None
        } else {
            let idle = taken.iter().filter(|(_, seat)| seat.is_idle());
            let longest = idle.min_by_key(|(_, seat)| *seat.left());
            let whose = longest.map(|(agent, _)| agent.clone());
            let seat = whose.and_then(|agent| taken.remove(&agent));
            // Under the lock nobody else has come by it.
            Some(seat.and_then(Arc::into_inner).ok_or(Reason::Crowded)?)
        };
        let seat = Arc::new(Seat {
            left: Mutex::new(Instant::now()),
            place: T::default(),
        });
        taken.insert(agent.clone(), Arc::clone(&seat));
        Ok((Seated(seat), given_up.map(|seat| seat.place)))
    }

    /// Gives up all that nobody has used for so long.
    pub(super) fn give_up(&self, idle: Duration) -> Vec<T> {
        let mut taken = self.taken();
        let over = taken.extract_if(|_, seat| seat.is_idle() && seat.left().elapsed() >= idle);
        over.filter_map(|(_, seat)| Arc::into_inner(seat))
            .map(|seat| seat.place)
            .collect()
    }

    /// Gives up all of them, whoever uses them.
    pub(super) fn clear(&self) -> Vec<Seated<T>> {
        self.taken().drain().map(|(_, seat)| Seated(seat)).collect()
    }
}

impl<T> Seat<T> {
    fn left(&self) -> MutexGuard<'_, Instant> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

trait Idle {
    fn is_idle(&self) -> bool;
}

impl<T> Idle for Arc<Seat<T>> {
    /// Whether the table alone has it; to be asked while that is locked.
    fn is_idle(&self) -> bool {
        Arc::strong_count(self) == 1
    }
}

impl<T> Deref for Seated<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.place
    }
}

impl<T> Drop for Seated<T> {
    fn drop(&mut self) {
        *self.0.left() = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::agent;

    #[test]
    fn the_place_that_was_left_first_makes_room_and_one_that_is_in_use_never_does() {
        let seats = Seats::<u8>::new(2);
        let a = seats.take(&agent("a")).unwrap().0;
        let b = seats.take(&agent("b")).unwrap().0;
        let full = seats.take(&agent("c")).unwrap_err();
        assert_eq!(full, Reason::Crowded, "both are in use");
        assert!(seats.take(&agent("a")).is_ok(), "one's own is there");
        drop(b);
        std::thread::sleep(Duration::from_millis(1));
        drop(a);
        let (c, given_up) = seats.take(&agent("c")).unwrap();
        assert!(given_up.is_some());
        assert!(seats.find(&agent("b")).is_none(), "it was left first");
        assert!(seats.find(&agent("a")).is_some());
        assert!(seats.give_up(IDLE).is_empty());
        let over = seats.give_up(Duration::ZERO);
        assert_eq!(over.len(), 1, "the one that is not in use");
        assert!(seats.find(&agent("a")).is_none());
        drop(c);
        assert!(seats.give_up(IDLE).is_empty(), "it was used until now");
        assert!(seats.find(&agent("c")).is_some());
    }
}
