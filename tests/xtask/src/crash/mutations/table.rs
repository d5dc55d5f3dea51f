//! The mutations of the ledger: what is broken, by which text, and where it is
//! looked for first.
//!
//! Each text occurs exactly once under the sources of the ledger and the gateway,
//! in whatever file, so that the table survives a move and not a rewrite; a test
//! says so.

/// One way to break what ships.
pub(super) struct Mutation {
    /// What is broken, as a reader would say it.
    pub(super) name: &'static str,
    /// Texts and what stands in their place.
    pub(super) edits: &'static [(&'static str, &'static str)],
    /// Who is to catch it.
    pub(super) by: By,
}

/// Who is to catch a mutation.
#[derive(Clone, Copy)]
pub(super) enum By {
    /// The ledger's own tests: first these, as nextest selects them, then all.
    Tests(&'static [&'static str]),
    /// The crash harness: these cells of its matrix, on this store.
    Harness(&'static str, &'static str),
    /// The stateful harness: each row of its matrix once.
    Stateful,
}

impl By {
    /// The word for it on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Tests(_) => "tests",
            Self::Harness(..) => "harness",
            Self::Stateful => "stateful",
        }
    }
}

const UNIT: By = By::Tests(&["--lib"]);
const CHECKED: By = By::Tests(&["--test", "checked"]);
const CRASHES: By = By::Tests(&["--test", "crashes"]);
const FAILING: By = By::Tests(&["--test", "failing"]);
const RECOVERING: By = By::Tests(&["--test", "recovering"]);
const REFERENCE: By = By::Tests(&["--test", "reference"]);
const SUITE: By = By::Tests(&["--test", "conformance", "-E", "test(sqlite::)"]);
const SUITE_POSTGRES: By = By::Tests(&["--test", "conformance", "-E", "test(postgres::)"]);
const POSTGRES: By = By::Tests(&["--test", "postgres"]);
const WAL: By = By::Tests(&["--test", "wal"]);

/// `WHO "what is broken": "text" => "what stands in its place", ...;`
macro_rules! mutations {
    ($($first:ident $name:literal: $($find:literal => $replace:literal),+;)*) => {
        &[$(Mutation { name: $name, edits: &[$(($find, $replace)),+], by: $first }),*]
    };
}

pub(super) use mutations;

pub(super) const LEDGER: &[Mutation] = mutations! {
    // Boundaries.
    SUITE "answer before the commit":
        ".and_then(|()| self.store.commit())" => "",
        "drop(self.probe(Point::Answered));" => "drop(self.store.commit()); drop(self.probe(Point::Answered));";
    CRASHES "write rows and entries in two transactions":
        "retain(connection, working)?;\n    }\n" => "retain(connection, working)?;\n    }\n    connection.execute_batch(\"COMMIT; BEGIN IMMEDIATE\")?;\n";
    CRASHES "give the permit before the row is there":
        "None => insert(connection, agents, &working.row)?," => "None => {}";
    SUITE "forget the log's head":
        "set_head(connection, &batch.head, batch.epochs)\n}" => "Ok(())\n}";
    SUITE "write entries that no head counts":
        "self.base.head = head;" => "drop(head);";

    // Fences.
    UNIT "drop the fence from the condition of a write":
        "AND owner = ?2 AND fence = ?3 AND chain_length = ?4" => "AND ?2 = ?2 AND ?3 = ?3 AND chain_length = ?4";
    UNIT "drop the chain's length from the condition of a write":
        "AND owner = ?2 AND fence = ?3 AND chain_length = ?4" => "AND owner = ?2 AND fence = ?3 AND ?4 = ?4";
    CHECKED "let anyone settle":
        "if record.owner == by.incarnation && record.fence == by.fence {" => "if record.fence >= by.fence || record.owner == by.incarnation {";
    CHECKED "keep the fence of an owner that is lost":
        "next.fence = record.fence.next();" => "";
    UNIT "keep the fence when a round is claimed":
        "next.fence = next.fence.next();" => "";
    SUITE "forget the answer of an owner that was fenced":
        "None => Err(self.late(index, closed, settlement, illegal))," => "None => Err(fenced_or(illegal)),";

    // What is known, and what is guessed.
    CHECKED "settle as succeeded what nobody answered":
        "raise(&mut next, *received);\n            settle(&mut next, Outcome::OutcomeUnknown)" => "raise(&mut next, *received);\n            settle(&mut next, Outcome::Succeeded)";
    UNIT "call a later round not attempted":
        "let first = record.boundary == EffectBoundary::PreTransport;" => "let first = true;";
    UNIT "let a live owner be called not attempted":
        "if answered || !owner_dead {" => "if answered {";
    UNIT "let a resolution replace an outcome":
        "let first = record.state == State::Blocked;" => "let first = true;";
    SUITE "believe who says that nothing was sent, though the gate was passed":
        "Settlement::NotSent { .. } if !closed.passed => Event::NotSent { by }," => "Settlement::NotSent { .. } if closed.owner == by => Event::NotSent { by },";
    SUITE "let a closed gate be passed":
        "Err(_) => Err(GateClosed)," => "Err(_) => Ok(()),";
    SUITE "leave open what a dropped token held":
        "self.queue.give_up(inner.close());" => "inner.close();";
    SUITE "leave in flight what a dead owner held":
        "if record.state != State::InFlight {\n            return Ok(());" => "if record.state != State::Blocked {\n            return Ok(());";

    // Classification.
    REFERENCE "use an identifier again after an unknown outcome":
        "Classification::Fresh | Classification::Continuation => return None," => "Classification::Fresh | Classification::Continuation | Classification::Replay(Outcome::OutcomeUnknown) => return None,";
    REFERENCE "compare the target with itself":
        "classify(&presented, Some(&execution.remembered().recorded()))" => "let remembered = execution.remembered(); let mut recorded = remembered.recorded(); recorded.target = &target; classify(&presented, Some(&recorded))";
    REFERENCE "compare the binding with itself":
        "classify(&presented, Some(&execution.remembered().recorded()))" => "let remembered = execution.remembered(); let mut recorded = remembered.recorded(); recorded.binding = presented.binding; classify(&presented, Some(&recorded))";
    REFERENCE "believe the caller's earlier classification":
        "if stale || classification != attempt.earlier {" => "if stale {";
    UNIT "claim a round twice":
        "if next.claimed.contains(&continuation) {" => "if false {";
    SUITE "let a decision stand that another policy made":
        "let stale = attempt.epochs != self.base.epochs;" => "let stale = false;";
    SUITE "take a request state that was issued to another":
        "execution.record.issued == Some(state) && execution.agent == attempt.agent" => "execution.record.issued == Some(state) || attempt.execution_id.is_none()";
    SUITE "give an awaited answer to another request":
        "|| attempt.draft.continuation != asked_in_answer" => "";
    SUITE "hold as many executions as one likes":
        "} else if held >= self.agent_rows {" => "} else if held == u64::MAX {";
    UNIT "let one agent fill the queue":
        "if state.attempts >= self.limit || held >= self.share {" => "if state.attempts >= self.limit {";

    // Failures.
    SUITE "believe an absent read-back: forget what was to be settled":
        "self.kept.extend(doubt.settlements)" => "drop(doubt.settlements)";
    SUITE "forget a settlement that failed":
        "self.kept.extend(settlement(&request));" => "";
    FAILING "go on after a sync that failed":
        "self.queue.fail();\n            return self.fail_all(requests, &LedgerError::Unavailable);" => "return self.fail_all(requests, &LedgerError::Unavailable);";
    FAILING "pass the gate of a ledger that failed":
        "let lost = self.queue.failed() || self.queue.rolled_back();" => "let lost = false;";

    // The anchor, the lock, the WAL.
    SUITE "forget to compare the anchor":
        "(Some(sequence), Some(hash)) => Ok(!store.holds(sequence, hash)?)," => "(Some(_), Some(_)) => Ok(false),";
    SUITE "forget to move the anchor":
        "let anchored = anchor.write(&self.options.anchor);" => "let anchored: std::io::Result<()> = Ok(());";
    SUITE "take a missing anchor for a new ledger's":
        "return Ok(anchored);" => "return Ok(false && anchored);";
    RECOVERING "let two processes own a database":
        "Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path })," => "Err(TryLockError::WouldBlock) => Ok(lock),";
    WAL "never reset the WAL":
        "Some(_turn) => reset(connection, &self.pages, wait)," => "Some(_turn) => Ok(()),";
    SUITE "commit without a sync":
        "connection.pragma_update(None, \"synchronous\", \"FULL\")?;" => "connection.pragma_update(None, \"synchronous\", \"NORMAL\")?;";
    SUITE "share no commit":
        "let count = state.requests.len().min(most);" => "let count = state.requests.len().min(1).min(most);";

    // Several replicas.
    UNIT "ignore the lease":
        "ends.saturating_sub(limited.clock.since_boot()) >= limited.length / 3" => "ends >= limited.length / 3";
    POSTGRES "let the gate stand open, whatever is left of the lease":
        "if lost || !(self.passed() || self.lease.allows_sending()) {" => "if lost {";
    UNIT "sweep at once after a reconnect":
        "let patience = other.lease.saturating_mul(2);" => "let patience = Duration::ZERO;";
    UNIT "end whoever the database's clock calls expired":
        "if other.expired && unrenewed >= other.lease && watched >= patience {" => "if other.expired && watched >= patience {";
    // The look that comes after a reconnect sees the gap as well.
    UNIT "watch on over a reconnect and a gap":
        "self.watch.begin_anew(self.clock.since_boot());" => "",
        "if now.saturating_sub(self.looked) >= self.gap {" => "if false {";
    POSTGRES "renew the lease of an incarnation that was ended":
        "WHERE number = $1 AND NOT ended RETURNING renewals\";" => "WHERE number = $1 RETURNING renewals\";";
    POSTGRES "go on under an incarnation that was ended":
        "if renewing && renewed.is_none() {\n            return Err(StoreError::Ended);" => "if false {\n            return Err(StoreError::Ended);";
    POSTGRES "never block what an ended incarnation holds":
        "WHERE e.state = 'in-flight' AND i.ended \\\n" => "WHERE e.state = 'nowhere' AND i.ended \\\n";
    POSTGRES "call an owner dead as soon as it was ended":
        "SELECT ended AND lease_until + 2 * lease_us * interval '1 microsecond' \\\n                   < clock_timestamp() FROM" => "SELECT ended FROM";
    SUITE_POSTGRES "let a permit hold that was not read back":
        "let read = if begun.is_some() && hold {" => "let read = if begun.is_some() || !hold || hold {";
    SUITE_POSTGRES "drop owner and fence from the condition of a write, on PostgreSQL":
        "AND e.owner = v.was_owner AND e.fence = v.was_fence" => "";
};
