//! What certification found, for people and for machines.

use std::collections::BTreeMap;
use std::fmt;

use countersign_canon::{Digest, Limits, ProfileId};
use serde_json::{Value, json};

use crate::check::Check;
use crate::finding::Finding;
use crate::subject::shown;

/// Everything that was found out about one component.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it calls itself; none where it does not even run.
    pub profile: Option<ProfileId>,
    /// SHA-256 of the component file.
    pub component: Digest,
    /// The limits that it states.
    pub limits: Option<Limits>,
    /// The seed of the messages.
    pub seed: u64,
    /// How many pairs were asked for.
    pub pairs: u64,
    /// What was counted.
    pub counts: Counts,
    /// What does not hold; nothing where the profile is adequate.
    pub findings: Vec<Finding>,
}

/// What was counted in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that were read.
    pub messages: u64,
    /// Of them, calls that were admitted.
    pub calls: u64,
    /// Of them, other messages that were admitted.
    pub others: u64,
    /// Of them, those refused, by code.
    pub refused: BTreeMap<&'static str, u64>,
    /// Pairs of calls with one binding, all treated alike.
    pub equal: u64,
    /// Pairs of calls with two bindings, told apart by at least one consumer.
    pub told_apart: u64,
    /// Pairs of calls with two bindings that no consumer tells apart: the
    /// binding is finer than it must be.
    pub finer: u64,
    /// Pairs of which one or both were not admitted.
    pub not_compared: u64,
    /// Questions put to `classify`.
    pub classified: u64,
    /// Messages meant to exhaust it, and at its limits.
    pub hostile: u64,
    /// The most fuel that a call used, of what a host gives, in parts of a
    /// thousand.
    pub fuel_per_mille: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.messages += other.messages;
        self.calls += other.calls;
        self.others += other.others;
        for (code, count) in &other.refused {
            *self.refused.entry(code).or_default() += count;
        }
        self.equal += other.equal;
        self.told_apart += other.told_apart;
        self.finer += other.finer;
        self.not_compared += other.not_compared;
        self.classified += other.classified;
        self.hostile += other.hostile;
        self.fuel_per_mille = self.fuel_per_mille.max(other.fuel_per_mille);
    }
}

impl Report {
    /// Whether every check holds.
    #[must_use]
    pub fn is_adequate(&self) -> bool {
        self.findings.is_empty()
    }

    /// The report as one JSON object; the form is `docs/vendors/certify.md`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let counts = &self.counts;
        json!({
            "report": "countersign.certification.v1",
            "profile": self.profile.as_ref().map(ProfileId::as_str),
            "component": self.component.as_str(),
            "certifier": env!("CARGO_PKG_VERSION"),
            "adequate": self.is_adequate(),
            "seed": self.seed,
            "pairs": self.pairs,
            "limits": self.limits.map(|limits| json!({
                "message_bytes": limits.message_bytes,
                "depth": limits.depth,
                "number_bytes": limits.number_bytes,
                "nodes": limits.nodes,
            })),
            "counts": {
                "messages": counts.messages,
                "calls": counts.calls,
                "others": counts.others,
                "refused": counts.refused,
                "pairs_equal": counts.equal,
                "pairs_told_apart": counts.told_apart,
                "pairs_finer": counts.finer,
                "pairs_not_compared": counts.not_compared,
                "classified": counts.classified,
                "hostile": counts.hostile,
                "fuel_per_mille": counts.fuel_per_mille,
            },
            "checks": Check::ALL.map(|check| json!({
                "check": check.as_str(),
                "holds": self.holds(check),
            })),
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
        })
    }

    fn holds(&self, check: Check) -> bool {
        self.findings.iter().all(|finding| finding.check != check)
    }
}

fn finding(finding: &Finding) -> Value {
    let texts = finding.requests.iter();
    json!({
        "check": finding.check.as_str(),
        "reason": finding.reason,
        "requests": texts.map(|bytes| String::from_utf8_lossy(bytes)).collect::<Vec<_>>(),
        "requests_hex": finding.requests.iter().map(|bytes| hex(bytes)).collect::<Vec<_>>(),
        "consumer": finding.seen.as_ref().map(|seen| seen.consumer),
        "seen": finding.seen.as_ref().map(|seen| seen.of.clone()),
        "case": finding.case,
    })
}

/// The most bytes of a request that a report holds in full.
const IN_FULL: usize = 4_096;

fn hex(bytes: &[u8]) -> Option<String> {
    use std::fmt::Write as _;
    if bytes.len() > IN_FULL {
        return None;
    }
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // INVARIANT: writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.profile.as_ref().map_or("unknown", ProfileId::as_str);
        writeln!(f, "profile     {name}")?;
        writeln!(f, "component   {}", self.component)?;
        writeln!(f, "seed        {}, {} pairs", self.seed, self.pairs)?;
        let counts = &self.counts;
        let refused: u64 = counts.refused.values().sum();
        writeln!(
            f,
            "messages    {}: {} calls, {} others, {refused} refused, {} hostile",
            counts.messages, counts.calls, counts.others, counts.hostile
        )?;
        for (code, count) in &counts.refused {
            writeln!(f, "            {count:>10} {code}")?;
        }
        writeln!(
            f,
            "pairs       {} equal, {} told apart, {} finer than any consumer, {} not both admitted",
            counts.equal, counts.told_apart, counts.finer, counts.not_compared
        )?;
        writeln!(f, "classified  {} questions", counts.classified)?;
        writeln!(
            f,
            "fuel        at most {}.{} % of what a host gives",
            counts.fuel_per_mille / 10,
            counts.fuel_per_mille % 10
        )?;
        writeln!(f)?;
        for check in Check::ALL {
            let mark = if self.holds(check) { "holds" } else { "FAILS" };
            writeln!(f, "{mark}  {:<15} {}", check.as_str(), check.promise())?;
        }
        for finding in &self.findings {
            writeln!(f, "\n{}: {}", finding.check, finding.reason)?;
            if let Some(case) = finding.case {
                writeln!(f, "  case {case} of seed {}", self.seed)?;
            }
            for (index, request) in finding.requests.iter().enumerate() {
                writeln!(f, "  request {}  {}", index + 1, shown(request))?;
            }
            if let Some(seen) = &finding.seen {
                for (index, of) in seen.of.iter().enumerate() {
                    writeln!(f, "  {} sees in {}  {of}", seen.consumer, index + 1)?;
                }
            }
        }
        let verdict = if self.is_adequate() {
            "adequate"
        } else {
            "not adequate"
        };
        writeln!(f, "\nverdict     {verdict}")
    }
}
