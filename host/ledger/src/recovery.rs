//! How an incarnation begins, and what becomes of rows whose owner is gone.
//!
//! The same for every store: at open the anchor is compared, a new incarnation
//! leaves its entry, and rows in flight whose owner is gone for good are blocked
//! or, where no later attempt can meet them, settled as `outcome-unknown`, each
//! with its entry (`docs/spec/executions.md` §4). Which owners are gone is the
//! store's to say.

use std::path::Path;

use countersign_evidence::key::VerifyingKey;
use countersign_evidence::{Draft, Kind, LogId, Time};

use crate::anchor::Anchor;
use crate::attempt::{Epochs, Position};
use crate::error::{LedgerError, OpenError};
use crate::in_force;
use crate::options::Clock;
use crate::plan::Plan;
use crate::request::InForce;
use crate::store::{Store, StoreError, Wanted};

/// Rows that are given up in one transaction.
const GIVEN_UP_AT_ONCE: usize = 256;

/// Becomes a new incarnation, with its entry, and with others before it; answers
/// where the first of these stands.
pub(crate) fn enlist<S: Store>(
    store: &mut S,
    clock: &dyn Clock,
    before: &[(Draft, InForce)],
) -> Result<Option<(Position, Epochs)>, StoreError> {
    let now_us = clock.wall_us();
    let (incarnation, base) = store.enlist(now_us)?;
    let rows = store.rows()?;
    let mut plan = Plan::new(&rows, base, now_us, incarnation, 0);
    let mut first = None;
    for (draft, in_force) in before {
        first.get_or_insert(appended(plan.append(draft, *in_force))?);
    }
    let mut draft = Draft::new(Kind::Start, Time::from_micros(now_us));
    draft.incarnation = Some(incarnation.get().to_string());
    appended(plan.append(&draft, InForce::Unchanged))?;
    let batch = plan.into_batch();
    drop(rows);
    store.write(&batch)?;
    store.commit()?;
    Ok(first)
}

fn appended<T>(appended: Result<T, LedgerError>) -> Result<T, StoreError> {
    appended.map_err(|error| StoreError::Damaged(error.to_string()))
}

/// Gives up some rows whose owner is gone; says how long the log is now, where
/// there may be more.
pub(crate) fn give_up<S: Store>(
    store: &mut S,
    clock: &dyn Clock,
) -> Result<Option<u64>, StoreError> {
    let base = store.begin(&Wanted::default())?;
    let lost = store.orphans(GIVEN_UP_AT_ONCE)?;
    if lost.is_empty() {
        store.rollback()?;
        return Ok(None);
    }
    let me = store.incarnation();
    let rows = store.rows()?;
    let mut plan = Plan::new(&rows, base, clock.wall_us(), me, 0);
    for row in lost {
        plan.owner_lost(row)
            .map_err(|error| StoreError::Damaged(error.to_string()))?;
    }
    let batch = plan.into_batch();
    drop(rows);
    store.write(&batch)?;
    store.commit()?;
    Ok(Some(batch.head.size()))
}

/// Reads the anchor at `path`.
pub(crate) fn anchor(path: &Path) -> Result<Option<Anchor>, OpenError> {
    Anchor::read(path).map_err(|source| OpenError::File {
        what: "read the anchor",
        path: path.to_owned(),
        source,
    })
}

/// Whether the store lacks what the anchor names, or what this process has seen
/// in it. A log that was anchored once and has no anchor now cannot tell, and
/// counts as rolled back.
pub(crate) fn behind<S: Store>(
    store: &mut S,
    anchor: Option<&Anchor>,
    log_id: &LogId,
    anchored: bool,
) -> Result<bool, StoreError> {
    if lacks_own(store, anchor, log_id, anchored)? {
        return Ok(true);
    }
    if let Some(anchor) = anchor {
        store.remember(&anchor.others);
    }
    match store.look() {
        Err(StoreError::RolledBack) => Ok(true),
        looked => looked.map(|()| false),
    }
}

fn lacks_own<S: Store>(
    store: &mut S,
    anchor: Option<&Anchor>,
    log_id: &LogId,
    anchored: bool,
) -> Result<bool, StoreError> {
    let Some(anchor) = anchor else {
        return Ok(anchored);
    };
    if &anchor.log_id != log_id {
        return Ok(true);
    }
    match (anchor.size.checked_sub(1), anchor.last) {
        (Some(sequence), Some(hash)) => Ok(!store.holds(sequence, hash)?),
        _ => Ok(false),
    }
}

/// Begins an incarnation on a store that is not behind its anchor, and gives up
/// what is left of owners that are gone.
pub(crate) fn begin<S: Store>(
    store: &mut S,
    path: &Path,
    clock: &dyn Clock,
) -> Result<(), OpenError> {
    // Before anything is admitted, so that a missing anchor is never taken for
    // that of a new ledger.
    write_anchor(store, path)?;
    let begun = enlist(store, clock, &[]).and_then(|_| {
        while give_up(store, clock)?.is_some() {}
        Ok(())
    });
    begun.map_err(|error| store.cannot_open(&error))?;
    write_anchor(store, path)
}

/// Accepts that the store went back in time, where what is there then goes on under
/// `key`. The entry that says so is durable before the anchor moves: after a crash
/// in between it has to be accepted again.
pub(crate) fn accept<S: Store>(
    store: &mut S,
    path: &Path,
    clock: &dyn Clock,
    (mut draft, then): (Draft, &[(Draft, InForce)]),
    key: &VerifyingKey,
) -> Result<(Position, Epochs), OpenError> {
    if let Some(resolution) = &mut draft.resolution {
        resolution.reason = format!("{} [{}]", resolution.reason, lost(path));
    }
    draft.kind = Kind::Rollback;
    let taken_up = store.forget().and_then(|()| store.look());
    taken_up.map_err(|error| store.cannot_open(&error))?;
    in_force::check(store, key)?;
    let accepted = enlist(store, clock, &[(draft, InForce::Unchanged)]).and_then(|first| {
        while give_up(store, clock)?.is_some() {}
        let epochs = append_all(store, clock, then)?;
        let lacking = || StoreError::Damaged("the entry of a rollback has no place".into());
        Ok((first.ok_or_else(lacking)?.0, epochs))
    });
    let accepted = accepted.map_err(|error| store.cannot_open(&error))?;
    write_anchor(store, path)?;
    Ok(accepted)
}

/// What the anchor knew of the log, for the entry that gives it up.
fn lost(path: &Path) -> String {
    match Anchor::read(path) {
        Ok(Some(anchor)) => format!(
            "the anchor named {} entries of log {}, the last {}, and the ends of {} other logs",
            anchor.size,
            anchor.log_id,
            anchor
                .last
                .map_or_else(|| "none".to_owned(), |last| last.to_string()),
            anchor.others.len()
        ),
        Ok(None) => "there was no anchor".to_owned(),
        Err(_) => "the anchor could not be read".to_owned(),
    }
}

fn append_all<S: Store>(
    store: &mut S,
    clock: &dyn Clock,
    drafts: &[(Draft, InForce)],
) -> Result<Epochs, StoreError> {
    let base = store.begin(&Wanted::default())?;
    let mut epochs = base.epochs;
    let me = store.incarnation();
    let rows = store.rows()?;
    let mut plan = Plan::new(&rows, base, clock.wall_us(), me, 0);
    for (draft, in_force) in drafts {
        (_, epochs) = appended(plan.append(draft, *in_force))?;
    }
    let batch = plan.into_batch();
    drop(rows);
    store.write(&batch)?;
    store.commit()?;
    Ok(epochs)
}

fn write_anchor<S: Store>(store: &mut S, path: &Path) -> Result<(), OpenError> {
    let head = store.head().map_err(|error| store.cannot_open(&error))?;
    Anchor::of(&head, store.known().others())
        .write(path)
        .map_err(|source| OpenError::File {
            what: "write the anchor",
            path: path.to_owned(),
            source,
        })
}
