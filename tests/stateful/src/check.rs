//! What the log holds at the end, against the model's account.
//!
//! The bundle is exported and verified, with every request that is in the log
//! and every receipt that was given; then it is compared entry by entry; then
//! what arrived at the upstream is held against both.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::OnceLock;
use std::time::Duration;

use countersign_engine::{CacheSettings, Engine, Profiles, Settings};
use countersign_evidence::bundle::Bundle;
use countersign_evidence::key::VerifyingKey;
use countersign_evidence::{CallId, Classified, Draft, Entry, Kind, Receipt, ServerName};
use countersign_gateway::environment::Environment;
use countersign_gateway::export::{self, ExportError, Wanted};
use countersign_gateway::store::StoreError;
use countersign_ledger::{OpenError, Selection, outcome_str};
use countersign_policy::{Bundle as Policies, PolicySet};
use countersign_verifier::{Claim, Components, Inputs, RequestFile, Status, verify};

use crate::client::Received;
use crate::model::Line;
use crate::plan::{AGENTS, Round};
use crate::play::{Player, Sent};
use crate::stage::{cache, policies};
use serde_json::Value;

/// The claims that must hold of everything that was played.
const CLAIMS: [Claim; 4] = [
    Claim::Integrity,
    Claim::Completeness,
    Claim::Classification,
    Claim::Ordering,
];

/// What the verifier says of an attempt that the recorded profile refuses.
const NOT_SHOWN: &str =
    "the recorded profile is said to refuse it, which only the request can show";

/// What is told without an entry of its own, and so without a receipt.
const UNRECEIPTED: [&str; 5] = [
    "nothing",
    "unauthenticated",
    "ledger-unavailable",
    "ledger-rolled-back",
    "settlement-failed",
];

/// Kinds of entries that come in no order where they follow one another.
const UNORDERED: [&[&str]; 2] = [&["suppressed"], &["discovery", "catalog-drift"]];

/// How often a ledger that is held by nobody is looked at again, and when.
const LOOKS: u32 = 20;
const LOOK: Duration = Duration::from_millis(50);

/// What does not hold; nothing, where everything does.
pub(crate) fn check(player: &Player) -> Vec<String> {
    let mut broken = Vec::new();
    let path = player.stage.folder().join("bundle.tar");
    let wanted = Wanted {
        selection: Selection::All,
        salts: true,
    };
    let store = player.config().store;
    let mut looks = 0;
    loop {
        let out = File::create(&path).unwrap();
        let Err(error) = export::from_store(&store, &Environment::system(), &wanted, out) else {
            break;
        };
        // Another sequence that starts a process holds every lock of this one from
        // its fork until it is that process.
        let held = matches!(
            error,
            ExportError::Open(StoreError::Open(OpenError::InUse { .. }))
        );
        looks += 1;
        if looks == LOOKS || !held {
            return vec![format!("no bundle: {error}")];
        }
        std::thread::sleep(LOOK);
    }
    let entries = match entries(&path) {
        Ok(entries) => entries,
        Err(why) => return vec![why],
    };
    compare(player, &entries, &mut broken);
    arrivals(player, &entries, &mut broken);
    answers(player, &entries, &mut broken);
    verified(player, &path, &entries, &mut broken);
    broken.extend(
        player
            .upstream
            .strange()
            .into_iter()
            .map(|what| format!("at the upstream: {what}")),
    );
    broken
}

fn entries(path: &std::path::Path) -> Result<Vec<Entry>, String> {
    let mut bundle = Bundle::open(File::open(path).unwrap()).map_err(|error| error.to_string())?;
    let mut lines = bundle.entries();
    let mut entries = Vec::new();
    while let Some(bytes) = lines.next().map_err(|error| error.to_string())? {
        entries.push(Entry::parse(bytes).map_err(|error| error.to_string())?);
    }
    Ok(entries)
}

/// Entry by entry. What was counted, and what was found of servers, comes in no order.
fn compare(player: &Player, entries: &[Entry], broken: &mut Vec<String>) {
    // The export opens the store of what is stopped.
    let mut expected = player.model.lines.clone();
    expected.push(Line::of("start"));
    let mut found: Vec<Line> = entries.iter().map(|entry| line(player, entry)).collect();
    for lines in [&mut expected, &mut found] {
        for run in lines.chunk_by_mut(|one, other| {
            let both = |kinds: &&[&str]| {
                kinds.contains(&one.kind.as_str()) && kinds.contains(&other.kind.as_str())
            };
            UNORDERED.iter().any(both)
        }) {
            run.sort();
        }
    }
    for number in 0..expected.len().max(found.len()) {
        let (wanted, is) = (expected.get(number), found.get(number));
        if wanted != is {
            let text = |line: Option<&Line>| line.map_or("nothing".to_owned(), Line::to_string);
            broken.push(format!(
                "entry {number} is `{}`, and was to be `{}`",
                text(is),
                text(wanted)
            ));
            return;
        }
    }
}

/// What an entry says, in the model's words.
fn line(player: &Player, entry: &Entry) -> Line {
    let said = entry.said();
    let text = |value: &str| Some(value.to_owned());
    let mut line = Line::of(said.kind.as_str());
    line.agent = said.agent.as_ref().map(|agent| agent.subject.clone());
    line.id = said.execution_id.as_ref().map(|id| id.as_str().to_owned());
    line.code = said.refusal.as_ref().map(|code| code.as_str().to_owned());
    line.outcome = said.outcome.and_then(|outcome| text(outcome_str(outcome)));
    line.because = said
        .resolution
        .as_ref()
        .filter(|why| !why.operator.is_empty() && !why.reason.is_empty())
        .and_then(|_| text("yes"));
    let server = said.server.as_ref().map(ServerName::as_str);
    let place = match (server, &said.tool) {
        (Some(server), Some(tool)) => Some(format!("{server}/{tool}")),
        (server, _) => server.map(str::to_owned),
    };
    let approved = said.catalog.approved.map(|digest| {
        let digest = digest.to_string();
        player.approved.get(&digest).cloned().unwrap_or(digest)
    });
    let policy = said.policy_digest.map(|digest| {
        let known = sets().iter().find(|(_, set)| set.digest() == digest);
        known.map_or(digest.to_string(), |(name, _)| name.clone())
    });
    let claims = said.round.map(|round| round.says.as_str());
    let own = match said.kind {
        Kind::Admission => true,
        Kind::Refusal => said.binding.is_some() || said.classification.is_some(),
        Kind::Round => claims == Some("claimed"),
        _ => false,
    };
    if own {
        line.attempt = said.workflow_id.as_ref().map(|id| id.as_str().to_owned());
        line.target.clone_from(&place);
        line.class = said.classification.map(word);
        line.profile.clone_from(&said.profile);
        line.policy.clone_from(&policy);
        line.approved.clone_from(&approved);
    }
    match said.kind {
        Kind::Round => line.says = claims.and_then(text),
        Kind::Task => line.says = said.task.as_ref().and_then(|task| text(&task.status)),
        Kind::Terminal => {
            line.says = said.task.as_ref().and_then(|task| text(&task.status));
        }
        Kind::PolicyLoaded => line.policy = policy,
        Kind::CatalogApproved => (line.target, line.approved) = (place, approved),
        Kind::Discovery | Kind::CatalogDrift => line.target = place,
        Kind::ProfileLoaded => line.profile.clone_from(&said.profile),
        Kind::Suppressed => line.count = said.suppressed.map_or(0, |counted| counted.count),
        _ => {}
    }
    line
}

/// A classification in a word, without what it adds: which part of a collision
/// differs, and the outcome of a replay.
fn word(class: Classified) -> String {
    match class {
        Classified::NotAdmissible => "not-admissible".to_owned(),
        other => other.as_str().to_owned(),
    }
}

/// The attempts that had a permit, by their names: whose and which.
fn permits(entries: &[Entry]) -> BTreeMap<String, (String, Option<String>)> {
    let permitted = entries
        .iter()
        .map(Entry::said)
        .filter(|said| match said.kind {
            Kind::Admission => true,
            Kind::Round => said
                .round
                .is_some_and(|round| round.says.as_str() == "claimed"),
            _ => false,
        });
    permitted
        .filter_map(|said| {
            let whose = said.agent.as_ref()?.subject.clone();
            let id = said.execution_id.as_ref().map(|id| id.as_str().to_owned());
            Some((said.call_id.as_ref()?.as_str().to_owned(), (whose, id)))
        })
        .collect()
}

/// What arrived is what was to arrive, and had a permit in the log; no round of
/// an execution arrived twice.
fn arrivals(player: &Player, entries: &[Entry], broken: &mut Vec<String>) {
    let arrived = player.upstream.arrivals();
    let expected = &player.model.arrivals;
    if arrived.len() != expected.len() {
        broken.push(format!(
            "{} calls reached the upstream, and {} were to: {arrived:?}",
            arrived.len(),
            expected.len()
        ));
        return;
    }
    let permits = permits(entries);
    let mut met = BTreeSet::new();
    for (number, (arrival, (agent, id, round))) in arrived.iter().zip(expected).enumerate() {
        let whose = AGENTS[*agent].to_owned();
        let id = id.map(|id| format!("e{id}"));
        let presented = arrival.round.as_ref().map(|(state, answer)| Round {
            state: state.clone(),
            answer: u8::try_from(*answer).unwrap_or_default(),
        });
        if presented != *round {
            broken.push(format!("{arrival:?} was to present {round:?}"));
        }
        // What a copy of the ledger does not hold is in no entry.
        if player.lost.contains(&number) {
            if permits.contains_key(&arrival.call_id) {
                broken.push(format!("{arrival:?} is in a log that cannot know of it"));
            }
            continue;
        }
        if permits.get(&arrival.call_id) != Some(&(whose.clone(), id.clone())) {
            broken.push(format!("{arrival:?} had no permit of {whose}'s in the log"));
        }
        if id.is_some() && !met.insert((whose, id, presented.map(|round| format!("{round:?}")))) {
            broken.push(format!("invoked twice: {arrival:?}"));
        }
    }
}

/// An answer is that of the call that its receipt names.
fn answers(player: &Player, entries: &[Entry], broken: &mut Vec<String>) {
    let arrived = player.upstream.arrivals();
    for (sent, received) in &player.received {
        let Some(receipt) = &received.receipt else {
            let again = |number: &usize| player.model.asked_again.contains(number);
            let excused = matches!(sent, Sent::Attempt(number) if again(number));
            if !excused && !UNRECEIPTED.contains(&received.word.as_str()) {
                broken.push(format!(
                    "{sent:?} was told `{}` without a receipt",
                    received.word
                ));
            }
            continue;
        };
        let call_id = receipt["call_id"].as_str().unwrap_or_default();
        if let Some(text) = &received.text {
            let place = text
                .strip_prefix('a')
                .and_then(|place| place.parse::<usize>().ok());
            let of = place.and_then(|place| arrived.get(place));
            if of.is_none_or(|of| of.call_id != call_id) {
                broken.push(format!("the answer `{text}` is not that of {call_id}"));
            }
        }
        let own = own(entries, call_id);
        let holds = match (sent, own) {
            // The ledger that knew of it is gone.
            (_, None) => received.lost,
            (Sent::Attempt(number), Some(own)) => {
                let workflow = own.workflow_id.as_ref().map(|id| id.as_str().to_owned());
                workflow.is_none_or(|id| id == format!("w{number}"))
            }
            (Sent::Fetch(agent, id), Some(own)) => {
                let whose = own.agent.as_ref().map(|agent| agent.subject.as_str());
                let which = own.execution_id.as_ref().map(|id| id.as_str().to_owned());
                whose == Some(AGENTS[*agent]) && which.is_none_or(|own| own == format!("e{id}"))
            }
        };
        if !holds {
            broken.push(format!(
                "the receipt of {sent:?} is another one's: {receipt}"
            ));
        }
    }
}

/// The attempt's own entry.
fn own<'e>(entries: &'e [Entry], call_id: &str) -> Option<&'e Draft> {
    let mut said = entries.iter().map(Entry::said);
    said.find(|said| {
        let kinds = [Kind::Admission, Kind::Round, Kind::Refusal];
        let id = said.call_id.as_ref().map(CallId::as_str);
        kinds.contains(&said.kind) && id == Some(call_id)
    })
}

/// Nothing is contradicted, and what can be shown is shown.
fn verified(player: &Player, path: &std::path::Path, entries: &[Entry], broken: &mut Vec<String>) {
    let bound = entries
        .iter()
        .map(Entry::said)
        .filter(|said| said.binding.is_some() || said.classification.is_some());
    let in_log: BTreeSet<String> = bound
        .filter_map(|said| said.workflow_id.as_ref())
        .map(|id| id.as_str().to_owned())
        .collect();
    let requests = player.sent.iter();
    let requests = requests
        .map(|(number, body)| (format!("w{number}"), body))
        .filter(|(name, _)| in_log.contains(name))
        .map(|(name, body)| RequestFile {
            name,
            message: body.clone().into_bytes(),
        });
    // What a ledger that is gone gave a receipt for is in no entry.
    let known = |received: &&Received| {
        let call_id = received.receipt.as_ref().map(|receipt| &receipt["call_id"]);
        let call_id = call_id.and_then(Value::as_str).unwrap_or_default();
        !received.lost || own(entries, call_id).is_some()
    };
    let received = player.received.iter().map(|(_, received)| received);
    let receipts = received.filter(known).filter_map(|received| {
        let text = received.receipt.as_ref()?.to_string();
        Receipt::parse(text.as_bytes()).ok()
    });
    let mut inputs = Inputs {
        requests: requests.collect(),
        receipts: receipts.collect(),
        trusted: vec![VerifyingKey::parse(&player.stage.key()).unwrap()],
        components: Components::of(profiles()),
        threads: 1,
        ..Inputs::default()
    };
    let named = entries
        .iter()
        .filter_map(|entry| entry.said().policy_digest);
    let named: BTreeSet<_> = named.map(|digest| digest.to_string()).collect();
    for (number, (_, set)) in (0..).zip(sets()) {
        if named.contains(&set.digest().to_string()) {
            inputs.approve_policies(self::set(number));
        }
    }
    let report = match verify(File::open(path).unwrap(), &inputs) {
        Ok(report) => report,
        Err(error) => return broken.push(error.to_string()),
    };
    // What a recorded profile refuses the classification cannot show: that alone,
    // once for each such entry.
    let refused = entries.iter().map(Entry::said);
    let refused = refused.filter(|said| said.classification == Some(Classified::NotAdmissible));
    let refused = refused.count() as u64;
    for claim in &report.claims {
        let excused = claim.claim == Claim::Classification
            && claim.status == Status::NotEstablished
            && claim.gap_count == refused
            && claim.gaps.iter().all(|gap| gap.reason == NOT_SHOWN);
        let contradicted = claim.status == Status::Contradicted;
        let wanted = CLAIMS.contains(&claim.claim) && claim.status != Status::Verified;
        if contradicted || wanted && !excused {
            broken.push(format!(
                "{} is {}: {:?} {:?}",
                claim.claim, claim.status, claim.contradictions, claim.gaps
            ));
        }
    }
}

/// The policies that plans know, by name.
fn sets() -> &'static [(String, PolicySet)] {
    static SETS: OnceLock<Vec<(String, PolicySet)>> = OnceLock::new();
    SETS.get_or_init(|| {
        let named = |number: u8| (format!("P{number}"), set(number));
        (0..3).map(named).collect()
    })
}

fn set(number: u8) -> PolicySet {
    let file = ("default.cedar".to_owned(), policies(number).to_owned());
    PolicySet::recorded(Policies::of([file]).unwrap()).unwrap()
}

fn profiles() -> &'static Profiles {
    static PROFILES: OnceLock<Profiles> = OnceLock::new();
    PROFILES.get_or_init(|| {
        let settings = Settings {
            cache: Some(CacheSettings {
                folder: cache(),
                random: Environment::system().random,
            }),
            ..Settings::default()
        };
        Profiles::embedded(&Engine::new(&settings).unwrap()).unwrap()
    })
}
