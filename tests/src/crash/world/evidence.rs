//! What the world's logs hold: read back whole, and verified at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::World;
use crate::crash::account::{Sent, Told};
use crate::crash::log::{self, Line};
use crate::said;

/// How often an export is tried.
const EXPORT_TRIES: u32 = 50;

impl World {
    /// Every entry of every log, as exported now.
    ///
    /// # Errors
    ///
    /// Where a log does not read back, or is no continuation of what it was.
    pub fn lines(&mut self) -> Result<Vec<Line>, String> {
        let mut logs = BTreeMap::<String, Vec<Line>>::new();
        for replica in &self.replicas {
            // Right after a fault the readers' connections may be broken still.
            let mut tries = 0;
            let bundle = loop {
                match replica.gateway.try_export() {
                    Ok(bundle) => break bundle,
                    Err(said) if tries >= EXPORT_TRIES => return Err(said),
                    Err(_) => std::thread::sleep(Duration::from_millis(200)),
                }
                tries += 1;
            };
            let mut own = BTreeMap::<String, Vec<Line>>::new();
            for line in log::read(&bundle)? {
                own.entry(line.log.clone()).or_default().push(line);
            }
            // Each replica's bundle holds the logs of all; the later one more of it.
            logs.append(&mut own);
        }
        for (log, lines) in &logs {
            let hashes: Vec<_> = lines.iter().map(|line| line.hash.clone()).collect();
            let before = self.grown.insert(log.clone(), hashes.clone());
            if before.is_some_and(|before| !hashes.starts_with(&before)) {
                return Err(format!("the log {log} did not only grow"));
            }
        }
        Ok(logs.into_values().flatten().collect())
    }

    /// Stops everything in an orderly way, and has the bundles verified by the
    /// real `countersign verify`.
    ///
    /// # Errors
    ///
    /// Where one did not settle, or is not verified.
    pub async fn end(&mut self) -> Result<Vec<Line>, String> {
        for replica in &mut self.replicas {
            if !replica.gateway.stop().await {
                return Err(format!("it did not settle:\n{}", replica.gateway.log()));
            }
        }
        let keys = self.replicas.iter().map(|one| one.gateway.public_key());
        let trusted = keys.flat_map(|key| ["--trust".to_owned(), key]);
        let trusted: Vec<String> = trusted.collect();
        for replica in &self.replicas {
            // Each one's bundle holds the logs of all.
            let bundle = replica.gateway.export();
            let mut verify = vec!["verify", bundle.to_str().unwrap_or_default()];
            verify.extend(trusted.iter().map(String::as_str));
            let done = replica.gateway.run(&verify);
            let verified = done.status.success() && !said(&done).contains("contradicted");
            if !verified {
                return Err(said(&done));
            }
        }
        let lines = self.lines()?;
        self.everyone_is_counted(&lines)?;
        Ok(lines)
    }

    /// What was refused without an entry stands in one that counts it, unless
    /// the process that had counted it was killed.
    fn everyone_is_counted(&self, lines: &[Line]) -> Result<(), String> {
        let entries = lines.iter().filter_map(|line| line.workflow.as_deref());
        let entries: BTreeSet<&str> = entries.collect();
        let written = |sent: &Sent| entries.contains(&*sent.workflow());
        let mut missing = self.account.all();
        missing.retain(|sent| {
            let of = &self.replicas[sent.replica % self.replicas.len()];
            let refused = matches!(sent.told, Told::Code(_));
            refused && sent.number >= of.excused && !written(sent)
        });
        let counted: u64 = lines.iter().map(|line| line.suppressed).sum();
        if missing.len() as u64 <= counted {
            Ok(())
        } else {
            Err(format!("counted {counted}, and in no entry: {missing:?}"))
        }
    }
}
