//! From a whole bundle to one that discloses a part of it.
//!
//! Whoever holds a bundle can do this, without its gateway: what is left is
//! proved entry by entry under the same signed heads. Two passes; memory grows
//! with what is left, not with what is left out.

use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Seek, Write};

use super::{
    Bundle, BundleError, Consistency, ExecutionName, Filter, Manifest, Opening, Proof, Writer,
};
use crate::checkpoint::{Checkpoint, SignedCheckpoint};
use crate::proof::Collector;
use crate::{Blinding, Entry, Kind, LogId};

/// One log of the bundle.
struct Log {
    /// The size of its newest checkpoint in the bundle.
    size: u64,
    chosen: Vec<u64>,
    collector: Collector,
}

/// Writes the part of a whole bundle that `keep` chooses, under the name of
/// `filter`; entries that change a log's key are in every part. `since` are
/// earlier heads: of each, and of those in the bundle, it is proved that it is
/// the beginning of the log. Salts are left of those executions alone that have
/// an entry in the part.
///
/// # Errors
/// [`BundleError::Manifest`] where the bundle is filtered already;
/// [`BundleError::Entry`] where an entry cannot be read; what the file or `out`
/// reports.
pub fn narrow<R: Read + Seek, W: Write>(
    bundle: &mut Bundle<R>,
    filter: Filter,
    mut keep: impl FnMut(&Entry) -> bool,
    since: &[SignedCheckpoint],
    out: W,
) -> Result<W, BundleError> {
    let mut manifest: Manifest = bundle.manifest().clone();
    if manifest.filter.replace(filter).is_some() {
        return Err(BundleError::Manifest);
    }
    let mut logs = logs(bundle);
    let mut lines = bundle.entries();
    while let Some(line) = lines.next()? {
        if let Ok(entry) = Entry::parse(line)
            && (entry.said().kind == Kind::KeyRotated || keep(&entry))
            && let Some(log) = logs.get_mut(entry.log_id())
        {
            log.chosen.push(entry.sequence());
        }
    }
    for log in logs.values_mut() {
        for sequence in log.chosen.iter().filter(|sequence| **sequence < log.size) {
            log.collector.want_inclusion(*sequence);
        }
    }
    let earlier = earlier(bundle, &logs, since);
    for head in &earlier {
        if let Some(log) = logs.get_mut(&head.log_id) {
            log.collector.want_consistency(head.size);
        }
    }
    let mut writer = Writer::new(out, &manifest)?;
    let mut disclosed = HashSet::new();
    let mut lines = bundle.entries();
    let mut number = 0_u64;
    while let Some(line) = lines.next()? {
        number = number.saturating_add(1);
        let entry = Entry::parse(line).map_err(|_| BundleError::Entry(number))?;
        let Some(log) = logs.get_mut(entry.log_id()) else {
            continue;
        };
        log.collector.leaf(entry.hash().to_bytes());
        if log.chosen.binary_search(&entry.sequence()).is_ok() {
            writer.entry(&entry)?;
            if entry.said().blind == Blinding::Salted {
                disclosed.extend(ExecutionName::of(entry.said()));
            }
        }
    }
    let mut lines = bundle.openings();
    while let Some(line) = lines.next()? {
        if let Some(opening) = Opening::parse(line)
            && opening.name().is_some_and(|name| disclosed.contains(&name))
        {
            writer.opening(&opening)?;
        }
    }
    proofs(&logs, &earlier, &mut writer)?;
    carry(bundle, &mut writer)?;
    writer.finish()
}

fn logs<R: Read + Seek>(bundle: &Bundle<R>) -> BTreeMap<LogId, Log> {
    let mut sizes: BTreeMap<LogId, u64> = BTreeMap::new();
    for log in &bundle.manifest().logs {
        sizes.insert(log.log_id.clone(), 0);
    }
    for (_, note) in bundle.checkpoints() {
        let note = std::str::from_utf8(note).ok();
        if let Some(note) = note.and_then(|note| SignedCheckpoint::parse(note).ok()) {
            let head = note.unverified();
            if let Some(size) = sizes.get_mut(&head.log_id) {
                *size = head.size.max(*size);
            }
        }
    }
    let log = |size| Log {
        size,
        chosen: Vec::new(),
        collector: Collector::new(size),
    };
    sizes
        .into_iter()
        .map(|(id, size)| (id, log(size)))
        .collect()
}

/// The heads that are to be shown to be beginnings: those that were seen before,
/// and those in the bundle that are not its newest.
fn earlier<R: Read + Seek>(
    bundle: &Bundle<R>,
    logs: &BTreeMap<LogId, Log>,
    since: &[SignedCheckpoint],
) -> Vec<Checkpoint> {
    let carried = bundle.checkpoints().iter().filter_map(|(_, note)| {
        let note = SignedCheckpoint::parse(std::str::from_utf8(note).ok()?).ok()?;
        let head = note.unverified();
        let newest = logs.get(&head.log_id)?.size;
        (head.size < newest).then(|| head.clone())
    });
    let mut heads: Vec<Checkpoint> = since
        .iter()
        .map(|note| note.unverified().clone())
        .chain(carried)
        .collect();
    heads.sort_by(|a, b| (&a.log_id, a.size).cmp(&(&b.log_id, b.size)));
    heads.dedup_by(|a, b| (&a.log_id, a.size) == (&b.log_id, b.size));
    heads
}

fn proofs<W: Write>(
    logs: &BTreeMap<LogId, Log>,
    earlier: &[Checkpoint],
    writer: &mut Writer<W>,
) -> Result<(), BundleError> {
    for (log_id, log) in logs {
        for sequence in &log.chosen {
            if let Some(path) = log.collector.inclusion(*sequence) {
                writer.proof(&Proof {
                    log_id: log_id.clone(),
                    sequence: *sequence,
                    size: log.size,
                    path,
                })?;
            }
        }
    }
    for head in earlier {
        let log = logs.get(&head.log_id);
        let path = log.and_then(|log| log.collector.consistency(head.size));
        if let Some((log, path)) = log.zip(path) {
            writer.consistency(&Consistency {
                log_id: head.log_id.clone(),
                from: head.size,
                to: log.size,
                path,
            })?;
        }
    }
    Ok(())
}

/// Copies the checkpoints, and what the chosen entries name.
fn carry<R: Read + Seek, W: Write>(
    bundle: &Bundle<R>,
    writer: &mut Writer<W>,
) -> Result<(), BundleError> {
    for (_, note) in bundle.checkpoints() {
        writer.checkpoint(&String::from_utf8_lossy(note))?;
    }
    let named = writer.named().clone();
    for profile in bundle.profiles() {
        if named
            .profiles
            .contains(&(profile.id.to_string(), profile.digest))
        {
            writer.profile(&profile.id, &profile.component)?;
        }
    }
    for (checkpoint, text) in bundle.catalogs() {
        if named.catalogs.contains(checkpoint) {
            writer.catalog(*checkpoint, text)?;
        }
    }
    for policy in bundle.policies() {
        if named.policies.contains(&policy.set) {
            writer.policy(policy.set, &policy.path, &policy.content)?;
        }
    }
    Ok(())
}
