//! One call as a trace has it (W3C Trace Context), and how it becomes spans.
//!
//! The caller's trace goes on through the gateway to the upstream: the gateway
//! is a span of its own in between, under which the stages of the call's way
//! are. `call_id`, `execution_id` and the log's position join it to evidence.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::metrics::Stage;
use crate::environment::{Environment, hex};

/// The version of `traceparent` that is written.
const VERSION: &str = "00";
const SAMPLED: u8 = 1;

/// Where a caller's trace stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    trace: [u8; 16],
    span: [u8; 8],
    flags: u8,
}

impl Parent {
    /// Reads a `traceparent`; none where it is not of its form, as the standard
    /// has it.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace) = (parts.next()?, parts.next()?);
        let (span, flags) = (parts.next()?, parts.next()?);
        // A later version may have more parts, the first one has not.
        let whole = version != VERSION || parts.next().is_none();
        let [version] = bytes(version)?;
        let [flags] = bytes(flags)?;
        let parent = Self {
            trace: bytes(trace)?,
            span: bytes(span)?,
            flags: flags & SAMPLED,
        };
        let sound = version != 0xff && parent.trace != [0; 16] && parent.span != [0; 8];
        (whole && sound).then_some(parent)
    }
}

/// Lower-case hexadecimal digits, as many as fill the bytes.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut all = [0; N];
    for (byte, [high, low]) in all.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(all)
}

/// A call that is followed.
#[derive(Debug)]
pub(crate) struct Trace {
    parent: Option<Parent>,
    /// The gateway's own span; none where nothing is recorded.
    own: Option<Own>,
}

#[derive(Debug)]
struct Own {
    trace: [u8; 16],
    span: [u8; 8],
    /// From which the spans of stages are counted on.
    seed: [u8; 8],
    began: Duration,
    began_us: i64,
    said: Mutex<Said>,
}

#[derive(Debug, Default)]
struct Said {
    stages: Vec<(Stage, Duration, Duration)>,
    attributes: Vec<(&'static str, String)>,
    sequence: Option<u64>,
    failed: bool,
}

impl Trace {
    pub(super) fn begin(parent: Option<Parent>, recorded: bool, environment: &Environment) -> Self {
        let wanted = parent.is_none_or(|parent| parent.flags & SAMPLED != 0);
        let own = || {
            let trace = match parent {
                Some(parent) => parent.trace,
                None => environment.bytes().ok()?,
            };
            Some(Own {
                trace,
                span: environment.bytes().ok()?,
                seed: environment.bytes().ok()?,
                began: environment.monotonic(),
                began_us: environment.now().micros(),
                said: Mutex::default(),
            })
        };
        let own = (recorded && wanted).then(own).flatten();
        Self { parent, own }
    }

    /// What the upstream is told: the gateway's own span or, where none is
    /// recorded, the caller's.
    pub(crate) fn onward(&self) -> Option<String> {
        let (trace, span, flags) = match (&self.own, self.parent) {
            (Some(own), _) => (own.trace, own.span, SAMPLED),
            (None, Some(parent)) => (parent.trace, parent.span, parent.flags),
            (None, None) => return None,
        };
        Some(format!(
            "{VERSION}-{}-{}-{flags:02x}",
            hex(&trace),
            hex(&span)
        ))
    }

    pub(super) fn passed(&self, stage: Stage, begun: Duration, ended: Duration) {
        if let Some(own) = &self.own {
            let mut said = own.said.lock().unwrap_or_else(PoisonError::into_inner);
            said.stages.push((stage, begun, ended));
        }
    }

    /// Says something of the call; a later word of the same name counts.
    pub(crate) fn say(&self, name: &'static str, value: &str) {
        if let Some(own) = &self.own {
            let mut said = own.said.lock().unwrap_or_else(PoisonError::into_inner);
            said.attributes.retain(|(known, _)| *known != name);
            said.attributes.push((name, value.to_owned()));
        }
    }

    /// Says where the last entry stands.
    pub(crate) fn at(&self, log: &str, sequence: u64) {
        self.say("countersign.log_id", log);
        if let Some(own) = &self.own {
            let mut said = own.said.lock().unwrap_or_else(PoisonError::into_inner);
            said.sequence = Some(sequence);
        }
    }

    /// Says under which code it ended without an answer.
    pub(crate) fn failed(&self, code: &str) {
        self.say("countersign.refusal", code);
        if let Some(own) = &self.own {
            let mut said = own.said.lock().unwrap_or_else(PoisonError::into_inner);
            said.failed = true;
        }
    }

    /// The spans, in the JSON form of OTLP; none where nothing is recorded.
    pub(super) fn end(&self, now: Duration) -> Option<Vec<Value>> {
        let own = self.own.as_ref()?;
        let said = std::mem::take(&mut *own.said.lock().unwrap_or_else(PoisonError::into_inner));
        let mut attributes: Vec<Value> = said
            .attributes
            .iter()
            .map(|(name, value)| json!({"key": name, "value": {"stringValue": value}}))
            .collect();
        if let Some(sequence) = said.sequence {
            let value = json!({"intValue": sequence.to_string()});
            attributes.push(json!({"key": "countersign.log_sequence", "value": value}));
        }
        let mut spans = vec![json!({
            "traceId": hex(&own.trace),
            "spanId": hex(&own.span),
            "parentSpanId": self.parent.map(|parent| hex(&parent.span)).unwrap_or_default(),
            "name": "tools/call",
            "kind": 2,
            "startTimeUnixNano": own.nanos(own.began),
            "endTimeUnixNano": own.nanos(now),
            "attributes": attributes,
            "status": {"code": if said.failed { 2 } else { 0 }},
        })];
        for (number, (stage, begun, ended)) in (1_u64..).zip(&said.stages) {
            let span = u64::from_be_bytes(own.seed).wrapping_add(number).max(1);
            spans.push(json!({
                "traceId": hex(&own.trace),
                "spanId": hex(&span.to_be_bytes()),
                "parentSpanId": hex(&own.span),
                "name": stage.as_str(),
                "kind": if *stage == Stage::Invoke { 3 } else { 1 },
                "startTimeUnixNano": own.nanos(*begun),
                "endTimeUnixNano": own.nanos(*ended),
            }));
        }
        Some(spans)
    }
}

impl Own {
    /// Nanoseconds since 1970, as text.
    fn nanos(&self, at: Duration) -> String {
        let since = i128::try_from(at.saturating_sub(self.began).as_nanos()).unwrap_or_default();
        (i128::from(self.began_us) * 1_000 + since).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn only_what_is_of_its_form_is_a_parent() {
        for (text, read) in [
            (GOOD, true),
            (
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
                true,
            ),
            (
                "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                true,
            ),
            (
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                false,
            ),
            (
                "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                false,
            ),
            (
                "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                false,
            ),
            (
                "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                false,
            ),
            (
                "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                false,
            ),
            (
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
                false,
            ),
            ("", false),
        ] {
            assert_eq!(Parent::read(text).is_some(), read, "{text}");
        }
    }

    #[test]
    fn without_a_collector_the_callers_own_trace_goes_on_and_an_unsampled_one_always() {
        let environment = Environment::system();
        let parent = Parent::read(GOOD);
        let passed = Trace::begin(parent, false, &environment);
        assert_eq!(passed.onward().as_deref(), Some(GOOD));
        let own = Trace::begin(parent, true, &environment).onward().unwrap();
        assert_eq!(own.get(..36), GOOD.get(..36), "the same trace");
        assert_ne!(own, GOOD, "another span");
        let unsampled = GOOD.replace("-01", "-00");
        let trace = Trace::begin(Parent::read(&unsampled), true, &environment);
        assert_eq!(trace.onward(), Some(unsampled));
        assert!(trace.end(environment.monotonic()).is_none());
        assert_eq!(Trace::begin(None, false, &environment).onward(), None);
    }
}
