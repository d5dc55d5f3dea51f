//! The mutations that the crash harness is to catch, in the gateway and in what
//! of the ledger only a whole gateway shows: the harness is shown to see, and
//! the order of the gateway's way to matter.

use super::table::{By, Mutation, mutations};

const SETTLE: By = By::Harness("sqlite", "settle");
const RESERVE: By = By::Harness("sqlite", "reserve");
const REFUSE: By = By::Harness("sqlite", "refuse");
const ANSWER: By = By::Harness("sqlite", "answer");
const FULL: By = By::Harness("sqlite", "disk full");
const ERROR: By = By::Harness("sqlite", "i/o error");
const POWER: By = By::Harness("sqlite", "power loss");
const CUT: By = By::Harness("sqlite", "cut connection");
const RESTORED: By = By::Harness("sqlite", "restored backup");
const SECOND: By = By::Harness("sqlite", "second process");
const PAST_LEASE: By = By::Harness("postgres", "pause past the lease");
const BLOCK: By = By::Harness("postgres", "block");
const LOST: By = By::Harness("postgres", "lost acknowledgement");

pub(super) const HARNESS: &[Mutation] = mutations! {
    // The order of a call's way.
    SETTLE "settle after the answer was delivered":
        "    last: oneshot::Sender<(Reply, Held)>,\n" => "    last: std::sync::Mutex<Option<oneshot::Sender<(Reply, Held)>>>,\n",
        "        Outbox { events, last, left },\n" => "        Outbox { events, last: std::sync::Mutex::new(Some(last)), left },\n",
        "    pub(crate) fn finish<Given>(self, reply: Reply, given: Given) {\n" => "    pub(crate) fn finish<Given>(&self, reply: Reply, given: Given) {\n",
        "        let _ = self.last.send((reply, held));\n" => "        if let Some(last) = self.last.lock().unwrap().take() {\n            let _ = last.send((reply, held));\n        }\n",
        "    let settled = settle::settle(gateway, attempt, invoked).await;\n" => "    if let crate::upstream::Exchange::Answered(answered) = &invoked.exchange {\n        outbox.finish(Reply::ok(countersign_mcp::envelope::result(&attempt.id, &answered.answer.without_receipt())), ());\n    }\n    let settled = settle::settle(gateway, attempt, invoked).await;\n";
    RESERVE "reserve after the call":
        "    reserved: Box<Reserved>,\n    outbox: &Outbox,\n) -> Invoked {\n    let token = reserved.token;\n" => "    outbox: &Outbox,\n) -> Exchange<Answered> {\n",
        "gate: Some(token.gate())," => "gate: None,",
        "    let exchange = upstream\n        .exchange(&attempt.arrival.agent, request, read)\n        .await;\n    Invoked { token, exchange }\n" => "    upstream\n        .exchange(&attempt.arrival.agent, request, read)\n        .await\n",
        "    let reserved = match reserve::reserve(gateway, attempt, permit).await? {\n" => "    let exchange = invoke::invoke(attempt, &offered, outbox).await;\n    let reserved = match reserve::reserve(gateway, attempt, permit).await? {\n",
        "    let invoked = invoke::invoke(attempt, &offered, reserved, outbox).await;\n" => "    let invoked = invoke::Invoked { token: reserved.token, exchange };\n";
    PAST_LEASE "ignore the lease before the first byte":
        "if let Some(Err(closed)) = gate.map(SendGate::pass) {" => "if let Some(Err(closed)) = gate.map(SendGate::pass).filter(|_| false) {";

    // What a caller is told, and what is counted.
    // The ledger asks the gate whether anything was sent, so both must be wrong.
    CUT "take a broken connection for a call that was never sent, and believe it":
        "            Settlement::Unanswered {\n                reason: reason.code()?,\n                received,\n            }," => "            Settlement::NotSent {\n                reason: { let _ = received; reason.code()? },\n            },",
        "Settlement::NotSent { .. } if !closed.passed => Event::NotSent { by }," => "Settlement::NotSent { .. } if closed.owner == by => Event::NotSent { by },";
    FULL "count nothing that could not be written":
        "    gateway.suppress(&attempt.arrival.agent, problem.code(), attempt.arrival.at);\n" => "";
    REFUSE "call another identifier safe, whatever there was":
        "safe_with_new_id: classification == Some(Classification::Fresh)" => "safe_with_new_id: true || classification == Some(Classification::Fresh)";

    // What the store keeps, and what a start finds.
    POWER "commit without a sync, and do not ask for one":
        "connection.pragma_update(None, \"synchronous\", \"FULL\")?;" => "connection.pragma_update(None, \"synchronous\", \"OFF\")?;",
        "(\"synchronous\", \"2\")" => "(\"synchronous\", \"0\")";
    ERROR "go on after a sync that failed, in a gateway":
        "self.queue.fail();\n            return self.fail_all(requests, &LedgerError::Unavailable);" => "return self.fail_all(requests, &LedgerError::Unavailable);";
    FULL "forget a settlement that failed, in a gateway":
        "self.kept.extend(settlement(&request));" => "";
    ANSWER "block nothing at a start":
        "    let begun = enlist(store, clock, &[]).and_then(|_| {\n        while give_up(store, clock)?.is_some() {}\n" => "    let begun = enlist(store, clock, &[]).and_then(|_| {\n";
    RESTORED "forget to compare the anchor, in a gateway":
        "(Some(sequence), Some(hash)) => Ok(!store.holds(sequence, hash)?)," => "(Some(_), Some(_)) => Ok(false),";
    SECOND "let two gateways own a database":
        "Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path })," => "Err(TryLockError::WouldBlock) => Ok(lock),";

    // Several replicas.
    BLOCK "block nothing that another replica left":
        "WHERE e.state = 'in-flight' AND i.ended \\\n" => "WHERE e.state = 'nowhere' AND i.ended \\\n";
    LOST "take every commit without an acknowledgement for none":
        "            if !holds(client, self.log, sequence, lost.hash).await? {\n" => "            if !holds(client, self.log, sequence, lost.hash).await? || true {\n";
};
