//! The ids of a session's requests in flight.

use std::collections::hash_map::Entry;
use std::sync::{Arc, PoisonError};

use countersign_canon::Id;
use tokio::sync::watch;

use super::Session;
use crate::delivery::Cancel;

/// An id of a request that is in flight; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    session: Arc<Session>,
    id: Id,
    cancel: Cancel,
}

impl Session {
    /// Claims the id of a request; none while another request has it.
    #[must_use]
    pub(crate) fn claim(self: &Arc<Self>, id: &Id) -> Option<Claim> {
        let mut in_flight = self
            .in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match in_flight.entry(id.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(free) => {
                let (tell, told) = watch::channel(false);
                free.insert(tell);
                Some(Claim {
                    session: Arc::clone(self),
                    id: id.clone(),
                    cancel: Cancel::of(told),
                })
            }
        }
    }

    /// Tells the request with that id that its caller does not wait any more;
    /// nothing happens where there is none.
    pub(crate) fn cancel(&self, id: &Id) {
        let in_flight = self
            .in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(tell) = in_flight.get(id) {
            tell.send_replace(true);
        }
    }
}

impl Claim {
    /// What tells the request of a cancel.
    #[must_use]
    pub(crate) fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut ids = self
            .session
            .in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        ids.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::session;
    use super::*;

    #[test]
    fn an_id_is_claimed_once_at_a_time_and_a_text_is_no_number() {
        let session = Arc::new(session(0, "a"));
        let claim = session.claim(&Id::Number(1)).unwrap();
        assert!(session.claim(&Id::Number(1)).is_none());
        assert!(session.claim(&Id::Text("1".to_owned())).is_some());
        drop(claim);
        assert!(session.claim(&Id::Number(1)).is_some());
    }
}
