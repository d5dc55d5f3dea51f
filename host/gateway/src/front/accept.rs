//! What a client accepts as an answer.

use http::{HeaderMap, header};

/// The two forms of an answer, as far as `Accept` allows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl Accepts {
    /// Reads `Accept`. Without one JSON is given, as it is to `*/*`: an event
    /// stream goes only to those who ask for one.
    pub(super) fn read(headers: &HeaderMap) -> Self {
        let mut accepts = Self {
            json: false,
            events: false,
        };
        let mut said = false;
        for value in headers.get_all(header::ACCEPT) {
            said = true;
            for range in value.to_str().unwrap_or_default().split(',') {
                let mut parts = range.split(';').map(str::trim);
                let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
                if parts.any(is_zero) {
                    continue;
                }
                accepts.json |=
                    matches!(kind.as_str(), "application/json" | "application/*" | "*/*");
                accepts.events |= matches!(kind.as_str(), "text/event-stream" | "text/*");
            }
        }
        accepts.json |= !said;
        accepts
    }

    pub(super) fn nothing(self) -> bool {
        !self.json && !self.events
    }
}

/// Whether a parameter is a weight of zero.
fn is_zero(parameter: &str) -> bool {
    let weight = parameter
        .strip_prefix("q=")
        .or_else(|| parameter.strip_prefix("Q="));
    weight.is_some_and(|weight| {
        weight.starts_with('0') && weight.bytes().all(|byte| matches!(byte, b'0' | b'.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_stream_goes_only_to_those_who_ask_for_one() {
        for (accept, json, events) in [
            (None, true, false),
            (Some("application/json, text/event-stream"), true, true),
            (Some("text/event-stream"), false, true),
            (Some("Application/JSON"), true, false),
            (Some("*/*"), true, false),
            (
                Some("text/event-stream;q=0, application/json;q=0.5"),
                true,
                false,
            ),
            (Some("text/html"), false, false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(header::ACCEPT, accept.parse().unwrap());
            }
            assert_eq!(
                Accepts::read(&headers),
                Accepts { json, events },
                "{accept:?}"
            );
        }
    }
}
