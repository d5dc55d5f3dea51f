//! Messages that are mended before they are read, instead of being refused.

use alloc::string::String;
use alloc::vec::Vec;

use crate::faults::Fault;

/// The message that is read in place of one, where the fault is to mend it.
pub(crate) fn message(fault: Fault, message: &[u8]) -> Option<Vec<u8>> {
    match fault {
        Fault::ReadsAByteOrderMark => message.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec),
        Fault::TakesTheLastOfTwoNames => {
            let mut reader = Reader {
                text: message,
                at: 0,
            };
            let read = reader.value(0)?;
            (reader.rest().is_empty()).then_some(read)
        }
        Fault::TakesAnyExecutionId => {
            let text = core::str::from_utf8(message).ok()?;
            let empty = "\"execution_id\":\"\"";
            text.contains(empty).then(|| {
                text.replace(empty, "\"execution_id\":\"none\"")
                    .into_bytes()
            })
        }
        _ => None,
    }
}

/// Reads JSON as many do: of two members of one name the last one counts.
struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

/// Deeper than this nothing is mended.
const DEPTH: u32 = 60;

impl Reader<'_> {
    fn rest(&mut self) -> &[u8] {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next_is(&mut self, byte: u8) -> bool {
        let is = self.rest().first() == Some(&byte);
        self.at += usize::from(is);
        is
    }

    fn value(&mut self, depth: u32) -> Option<Vec<u8>> {
        if depth > DEPTH {
            return None;
        }
        match self.rest().first()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string(),
            _ => {
                let end =
                    |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
                let rest = self.rest();
                let length = rest.iter().position(end).unwrap_or(rest.len());
                let scalar = rest.get(..length)?.to_vec();
                self.at += length;
                (!scalar.is_empty()).then_some(scalar)
            }
        }
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        let rest = self.rest();
        let mut escaped = false;
        let inner = rest.get(1..)?;
        let length = inner.iter().position(|byte| {
            let ends = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            ends
        })?;
        let whole = rest.get(..length + 2)?.to_vec();
        self.at += length + 2;
        Some(whole)
    }

    fn array(&mut self, depth: u32) -> Option<Vec<u8>> {
        let mut items = Vec::new();
        self.next_is(b'[');
        if !self.next_is(b']') {
            loop {
                items.push(self.value(depth + 1)?);
                if self.next_is(b']') {
                    break;
                }
                if !self.next_is(b',') {
                    return None;
                }
            }
        }
        Some([b"[".as_slice(), &items.join(&b','), b"]"].concat())
    }

    fn object(&mut self, depth: u32) -> Option<Vec<u8>> {
        let mut members: Vec<(String, Vec<u8>)> = Vec::new();
        self.next_is(b'{');
        if !self.next_is(b'}') {
            loop {
                if self.rest().first() != Some(&b'"') {
                    return None;
                }
                let name = self.string()?;
                let plain = name.windows(6).position(|window| window == b"\\u0061");
                let name = match plain {
                    Some(at) => [name.get(..at)?, b"a", name.get(at + 6..)?].concat(),
                    None => name,
                };
                let name = String::from_utf8(name).ok()?;
                if !self.next_is(b':') {
                    return None;
                }
                let value = self.value(depth + 1)?;
                members.retain(|(known, _)| *known != name);
                members.push((name, value));
                if self.next_is(b'}') {
                    break;
                }
                if !self.next_is(b',') {
                    return None;
                }
            }
        }
        let members: Vec<Vec<u8>> = members
            .into_iter()
            .map(|(name, value)| [name.as_bytes(), b":", &value].concat())
            .collect();
        Some([b"{".as_slice(), &members.join(&b','), b"}"].concat())
    }
}
