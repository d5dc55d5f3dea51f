//! The compact form of a signed object (RFC 7515), read strictly.
//!
//! Header and claims pass the strict reader, so that a member that stands
//! twice is refused instead of meaning what one reader takes it to mean.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_canon::Limits;
use countersign_canon::document::{Document, Item, Kind};

use crate::refusal::Fault;

/// The longest text that is read as a token or a proof, in bytes.
pub(crate) const MAX_BYTES: usize = 16_384;

const LIMITS: Limits = Limits {
    message_bytes: 16_384,
    depth: 16,
    number_bytes: 32,
    nodes: 1_024,
};

/// Header, payload and signature of a compact text; nothing is verified.
pub(crate) struct Compact<'t> {
    /// What was signed: the first two parts, as they stand.
    pub(crate) signed: &'t [u8],
    pub(crate) header: Vec<u8>,
    pub(crate) payload: Vec<u8>,
    pub(crate) signature: Vec<u8>,
}

impl<'t> Compact<'t> {
    pub(crate) fn read(text: &'t str) -> Result<Self, Fault> {
        if text.len() > MAX_BYTES {
            return Err(Fault::Form);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(Fault::Form)?;
        let (header, payload) = signed.split_once('.').ok_or(Fault::Form)?;
        Ok(Self {
            signed: signed.as_bytes(),
            header: decode(header)?,
            payload: decode(payload)?,
            signature: decode(signature)?,
        })
    }
}

/// Base64url without padding, in its one canonical spelling.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, Fault> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| Fault::Form)
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads one JSON object.
pub(crate) fn object(bytes: &[u8]) -> Result<Document<'_>, Fault> {
    let document = Document::read(bytes, LIMITS).map_err(|_| Fault::Form)?;
    if document.root().kind() == Kind::Object {
        Ok(document)
    } else {
        Err(Fault::Form)
    }
}

/// A member that is a text where it is there.
pub(crate) fn text(object: Item<'_>, name: &str) -> Result<Option<String>, Fault> {
    match object.get(name) {
        None => Ok(None),
        Some(item) => match item.text() {
            Some(text) => Ok(Some(text.into_owned())),
            None => Err(Fault::Claims),
        },
    }
}

/// A date in seconds since 1970 where it is there; a fraction is cut off.
pub(crate) fn date(object: Item<'_>, name: &str) -> Result<Option<i64>, Fault> {
    let Some(item) = object.get(name) else {
        return Ok(None);
    };
    let lexeme = item.lexeme().ok_or(Fault::Claims)?;
    let (whole, fraction) = lexeme.split_once('.').unwrap_or((lexeme, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::Claims);
    }
    let seconds: i64 = whole.parse().map_err(|_| Fault::Claims)?;
    // Far enough for any calendar, and no sum of two of them overflows.
    if (0..=253_402_300_799).contains(&seconds) {
        Ok(Some(seconds))
    } else {
        Err(Fault::Claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_parts_in_their_one_spelling_are_read() {
        for (text, read) in [
            ("e30.e30.", true),
            ("e30.e30.AA", true),
            ("e30.e30", false),
            ("e30.e30.AA.AA", false),
            ("e30=.e30.AA", false),
            ("e30.e30.AB", false),
            ("e30.e3 0.AA", false),
            ("", false),
        ] {
            assert_eq!(Compact::read(text).is_ok(), read, "{text}");
        }
        for (length, read) in [(MAX_BYTES, true), (MAX_BYTES + 1, false)] {
            let text = format!("e30.e30.{}", "A".repeat(length - 8));
            // What is not a whole number of bytes is no spelling of any.
            let payload = format!("e30.{}.AA", "A".repeat(length - 7));
            let is_read = [text, payload]
                .iter()
                .any(|text| Compact::read(text).is_ok());
            assert_eq!(is_read, read, "{length}");
        }
    }

    #[test]
    fn a_member_that_stands_twice_is_refused() {
        assert!(object(br#"{"alg":"ES256","alg":"none"}"#).is_err());
        assert!(object(b"[]").is_err());
    }

    #[test]
    fn a_date_is_a_number_of_seconds_and_nothing_else() {
        for (date_text, read) in [
            ("1", Ok(Some(1))),
            ("1.9", Ok(Some(1))),
            ("\"1\"", Err(Fault::Claims)),
            ("-1", Err(Fault::Claims)),
            ("1e3", Err(Fault::Claims)),
            ("null", Err(Fault::Claims)),
            ("99999999999999", Err(Fault::Claims)),
        ] {
            let text = format!("{{\"exp\":{date_text}}}");
            let document = object(text.as_bytes()).unwrap();
            assert_eq!(date(document.root(), "exp"), read, "{date_text}");
        }
    }
}
