//! The check that every test ends with: logs, chains and checkpoints, whole.

use std::collections::HashMap;

use countersign_evidence::checkpoint::SignedCheckpoint;
use countersign_evidence::tree::Frontier;
use countersign_evidence::{Agent, Entry, ExecutionId, Kind, LogId, Round, RoundSays};
use countersign_ledger::{Ledger, Selection};

use super::key_of;

/// Every entry of the ledger's own log, in order.
pub fn entries(ledger: &Ledger, selection: &Selection) -> Vec<Entry> {
    entries_of(ledger, ledger.log_id(), selection)
}

/// Every entry of a log, in order.
pub fn entries_of(ledger: &Ledger, log: &LogId, selection: &Selection) -> Vec<Entry> {
    let mut all = Vec::new();
    let mut from = Some(0);
    while let Some(at) = from {
        let page = ledger.entries_of(log, selection, at, 100).wait().unwrap();
        for stored in page.entries {
            let entry = Entry::parse(&stored.bytes).unwrap();
            assert_eq!(
                (entry.sequence(), entry.hash()),
                (stored.sequence, stored.hash)
            );
            all.push(entry);
        }
        from = page.next;
    }
    all
}

/// Every test ends here: each log is whole from its first entry to its head,
/// every execution's chain is, across logs, and all checkpoints are of the very
/// log that they name. Returns the entries, log by log.
pub fn verify(ledger: &Ledger) -> Vec<Entry> {
    // The queue is in order: what dropped tokens left behind is settled first.
    drop(ledger.checkpoint().wait());
    let mut all = Vec::new();
    for log in ledger.logs().wait().unwrap() {
        all.extend(verify_log(ledger, &log.head.log_id));
    }
    verify_chains(ledger, &all);
    all
}

fn verify_log(ledger: &Ledger, log: &LogId) -> Vec<Entry> {
    let all = entries_of(ledger, log, &Selection::All);
    let mut previous = None;
    let mut tree = Frontier::new();
    let mut roots = vec![tree.root()];
    for (at, entry) in all.iter().enumerate() {
        assert_eq!(entry.sequence(), at as u64, "no gap");
        assert_eq!(
            entry.previous(),
            previous,
            "entry {at} is chained to the one before it"
        );
        previous = Some(entry.hash());
        tree.append(entry.hash().to_bytes());
        roots.push(tree.root());
    }
    let head = ledger.head_of(log).wait().unwrap();
    assert_eq!((head.size, head.last), (all.len() as u64, previous));
    assert_eq!(head.root, tree.root());
    let replica = log.as_str().rsplit('/').next().unwrap().parse().unwrap();
    for stored in ledger.checkpoints_of(log, 0, 1_000).wait().unwrap() {
        let signed = SignedCheckpoint::parse(&stored.text).unwrap();
        assert!(signed.verify(&key_of(replica).verifying_key()));
        assert_eq!(signed.unverified().size, stored.size);
        assert_eq!(
            signed.unverified().root,
            roots[usize::try_from(stored.size).unwrap()]
        );
    }
    all
}

fn verify_chains(ledger: &Ledger, all: &[Entry]) {
    let mut chains: HashMap<(Agent, ExecutionId), Vec<&Entry>> = HashMap::new();
    for entry in all {
        let said = entry.said();
        if let (Some(agent), Some(id), Some(_)) = (&said.agent, &said.execution_id, entry.link()) {
            chains
                .entry((agent.clone(), id.clone()))
                .or_default()
                .push(entry);
        }
    }
    for ((agent, id), chain) in &mut chains {
        chain.sort_by_key(|entry| entry.link().unwrap().execution_seq);
        let terminals = verify_chain(id, chain);
        let execution = ledger.lookup(agent, id).wait().unwrap().unwrap();
        assert_eq!(execution.chain_length, chain.len() as u64);
        assert_eq!(
            Some(execution.last.hash),
            chain.last().map(|entry| entry.hash())
        );
        assert_eq!(execution.record.state.outcome().is_some(), terminals == 1);
        assert!(terminals <= 1, "`{id}` has {terminals} terminals");
    }
}

/// Looks along one execution's chain; answers how many terminals it has.
fn verify_chain(id: &ExecutionId, chain: &[&Entry]) -> usize {
    let mut link = None;
    let mut terminals = 0;
    let mut callers = Vec::new();
    for (at, entry) in chain.iter().enumerate() {
        let here = entry.link().unwrap();
        assert_eq!(here.execution_seq, at as u64, "`{id}` has no gap");
        if at > 0 {
            assert_eq!(Some(here), link, "`{id}` is chained");
        }
        link = entry.next_link();
        let said = entry.said();
        let kind = said.kind.clone();
        let claims = |round: &Round| round.says == RoundSays::Claimed;
        if at == 0 || said.round.as_ref().is_some_and(claims) {
            callers.push(said.call_id.clone());
        }
        if kind != Kind::Refusal {
            let permitted = callers.contains(&said.call_id);
            assert!(permitted, "`{id}`: a {kind} of a call without a permit");
        }
        if at == 0 {
            assert_eq!(kind, Kind::Admission, "`{id}` begins with its reservation");
        }
        let opened = chain[..at].iter().any(|entry| {
            // A late answer is proof of a block too.
            matches!(entry.said().kind, Kind::Blocked | Kind::LateAnswer)
        });
        let ends = kind == Kind::Terminal || (kind == Kind::Resolution && opened && terminals == 0);
        if terminals > 0 {
            assert!(
                matches!(kind, Kind::Refusal | Kind::LateAnswer | Kind::Resolution),
                "`{id}`: {kind} after the terminal"
            );
        }
        terminals += usize::from(ends);
    }
    terminals
}

/// How many entries are of a kind.
pub fn count(entries: &[Entry], kind: &Kind) -> usize {
    entries
        .iter()
        .filter(|entry| entry.said().kind == *kind)
        .count()
}
