//! What a bundle says of itself; believed only where something else shows it.

use countersign_canon::Limits;
use countersign_canon::document::{Document, Item, Kind};

use crate::member::{Member, member};
use crate::{LogId, Time};

/// The format that this version writes, and the only one that it reads.
pub(super) const FORMAT: &str = "countersign.bundle.v1";

const LIMITS: Limits = Limits {
    message_bytes: 1 << 20,
    depth: 5,
    number_bytes: 20,
    nodes: 65_536,
};

/// The first member of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// When it was exported; none where the exporter's clock should not show.
    pub exported: Option<Time>,
    /// The logs of the fleet, all of them, each once.
    pub logs: Vec<LogExtent>,
    /// What was left out; none in a bundle that holds its logs whole.
    pub filter: Option<Filter>,
}

/// How much of a log there was when it was exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogExtent {
    /// The log.
    pub log_id: LogId,
    /// How many entries it had.
    pub size: u64,
    /// The verifier's text of its first key, so that a reader can compare it
    /// with what the operator published; never trusted because it stands here.
    pub key: Option<String>,
}

/// By what entries were chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The property.
    pub by: FilterBy,
    /// Its value, for a person to read.
    pub value: String,
}

/// A property by which entries are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterBy {
    /// One execution id.
    Execution,
    /// One workflow id.
    Workflow,
    /// One session.
    Session,
    /// One agent.
    Agent,
    /// An interval of time.
    Time,
}

impl FilterBy {
    const ALL: [Self; 5] = [
        Self::Execution,
        Self::Workflow,
        Self::Session,
        Self::Agent,
        Self::Time,
    ];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Execution => "execution",
            Self::Workflow => "workflow",
            Self::Session => "session",
            Self::Agent => "agent",
            Self::Time => "time",
        }
    }
}

impl Member for FilterBy {
    fn write(&self, out: &mut Vec<u8>) {
        self.as_str().to_owned().write(out);
    }

    fn read(item: Item<'_>) -> Option<Self> {
        let text = item.text()?;
        Self::ALL.into_iter().find(|by| by.as_str() == text)
    }
}

impl Member for Filter {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        member(out, "by", &self.by);
        member(out, "value", &self.value);
        out.push(b'}');
    }

    fn read(item: Item<'_>) -> Option<Self> {
        let shape = item.kind() == Kind::Object && item.count() == 2;
        shape.then_some(())?;
        Some(Self {
            by: Member::read(item.get("by")?)?,
            value: Member::read(item.get("value")?)?,
        })
    }
}

impl Member for LogExtent {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        member(out, "key", &self.key);
        member(out, "log_id", &self.log_id);
        member(out, "size", &self.size);
        out.push(b'}');
    }

    fn read(item: Item<'_>) -> Option<Self> {
        let shape = item.kind() == Kind::Object && item.count() == 3;
        shape.then_some(())?;
        Some(Self {
            key: Member::read(item.get("key")?)?,
            log_id: Member::read(item.get("log_id")?)?,
            size: Member::read(item.get("size")?)?,
        })
    }
}

impl Manifest {
    /// The canonical JSON object.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = vec![b'{'];
        member(&mut out, "exported", &self.exported);
        member(&mut out, "filter", &self.filter);
        member(&mut out, "format", &FORMAT.to_owned());
        member(&mut out, "logs", &self.logs);
        out.push(b'}');
        out
    }

    /// Reads it; `None` for another format, and where two logs have one id.
    pub(super) fn parse(json: &[u8]) -> Option<Self> {
        let document = Document::read(json, LIMITS).ok()?;
        let root = document.root();
        if root.kind() != Kind::Object || root.count() != 4 || !root.get("format")?.is_text(FORMAT)
        {
            return None;
        }
        let logs: Vec<LogExtent> = Member::read(root.get("logs")?)?;
        let distinct: std::collections::BTreeSet<_> = logs.iter().map(|log| &log.log_id).collect();
        (distinct.len() == logs.len()).then_some(())?;
        Some(Self {
            exported: Member::read(root.get("exported")?)?,
            filter: Member::read(root.get("filter")?)?,
            logs,
        })
    }
}
