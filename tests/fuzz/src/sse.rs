//! The event stream codec: the same bytes give the same events however they are
//! cut, those that the format's definition gives, within the limit that was
//! set; and what is written reads back.

use countersign_mcp::sse::{self, Event, Parser};

use crate::choices::Choices;

/// What one line may hold beside data, as the parser documents it.
const LINE_SLACK: usize = 16;

pub(crate) fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    let limit = match choices.byte() {
        0..=127 => 1 << 20,
        few => usize::from(few - 128),
    };
    let cuts: Vec<u8> = choices.bytes(8).to_vec();
    let stream = choices.rest();
    let whole = read(stream, &[stream.len().max(1)], limit);
    assert_eq!(whole, defined(stream, limit), "as the format is defined");
    for event in &whole.0 {
        assert!(event.data.len() <= limit, "an event is over the limit");
    }
    assert_eq!(read(stream, &[1], limit), whole, "byte by byte");
    let cuts: Vec<usize> = cuts.into_iter().map(|cut| usize::from(cut) + 1).collect();
    if !cuts.is_empty() {
        assert_eq!(read(stream, &cuts, limit), whole, "cut as {cuts:?}");
    }
    written(stream);
}

/// Events, and whether the stream could be read to its end; chunks have the
/// lengths of `cuts`, over and over.
fn read(stream: &[u8], cuts: &[usize], limit: usize) -> (Vec<Event>, bool) {
    let mut parser = Parser::new(limit);
    let mut events = Vec::new();
    let mut rest = stream;
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, after) = rest.split_at((*cut).min(rest.len()));
        rest = after;
        // An empty chunk changes nothing.
        if parser.push(b"", &mut events).is_err() || parser.push(chunk, &mut events).is_err() {
            return (events, false);
        }
    }
    (events, true)
}

/// The definition of the format, over all bytes at once.
fn defined(stream: &[u8], limit: usize) -> (Vec<Event>, bool) {
    let (lines, last) = lines(stream);
    let mut events = Vec::new();
    let mut event: Option<Event> = None;
    let mut id = None;
    let mut kind = &b""[..];
    for (index, line) in lines.iter().enumerate() {
        if line.len() > limit + LINE_SLACK {
            return (events, false);
        }
        let line = match line.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) if index == 0 => rest,
            _ => line,
        };
        if line.is_empty() {
            let sent = id.take();
            let event = event.take().map(|event| Event { id: sent, ..event });
            events.extend(event.filter(|_| kind.is_empty() || kind == b"message"));
            kind = b"";
            continue;
        }
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if name == b"id" && !value.contains(&0) {
            id = Some(value.to_vec());
        }
        if name == b"event" {
            kind = value;
        }
        if name == b"data" {
            let data = match event.take() {
                Some(event) => [&event.data[..], b"\n", value].concat(),
                None => value.to_vec(),
            };
            if data.len() > limit {
                return (events, false);
            }
            event = Some(Event { id: None, data });
        }
    }
    (events, last.len() <= limit + LINE_SLACK)
}

/// Lines that end, and what follows the last end.
fn lines(stream: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut lines = Vec::new();
    let mut rest = stream;
    while let Some(end) = rest.iter().position(|byte| b"\r\n".contains(byte)) {
        lines.push(&rest[..end]);
        let length = if rest[end..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
        rest = &rest[end + length..];
    }
    (lines, rest)
}

/// What is written is one event, whatever its data and its id hold.
fn written(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for id in [None, Some(text.as_ref())] {
        let mut bytes = Vec::new();
        sse::comment(&mut bytes);
        sse::event(&mut bytes, id, data);
        sse::comment(&mut bytes);
        let (events, whole) = read(&bytes, &[7], usize::MAX >> 1);
        assert!(whole);
        let [event] = events.as_slice() else {
            panic!("{events:?} was one event");
        };
        // In JSON an end of line is white space, whichever it is.
        let same = |byte: &u8| if *byte == b'\r' { b'\n' } else { *byte };
        let expected: Vec<u8> = data.iter().map(same).collect();
        assert_eq!(event.data, expected);
        let kept = |char: &char| !matches!(char, '\r' | '\n' | '\0');
        let id = id.map(|id| id.chars().filter(kept).collect::<String>().into_bytes());
        assert_eq!(event.id, id);
    }
}
