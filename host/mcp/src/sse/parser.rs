//! An incremental reader of an event stream.
//!
//! It follows the event stream format of the HTML standard: lines end with
//! LF, CR or CRLF, one byte order mark may stand at the start, and an event
//! that the stream's end cuts off is no event. Of the types that events may have
//! only `message`, which is also that of an event without one, carries messages:
//! what has another is held to the limit and is no event. Work is linear in the bytes,
//! however they are cut into chunks.

use thiserror::Error;

/// One dispatched event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The `id` field of this event, as sent; none where it sent none.
    pub id: Option<Vec<u8>>,
    /// The `data` lines, joined by LF. Empty in a priming event.
    pub data: Vec<u8>,
}

/// An event, or a line, is larger than the reader was told to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an event is larger than {limit} bytes")]
pub struct Overflow {
    limit: usize,
}

/// The state between two chunks.
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// Whether the event has a type of its own.
    is_other: bool,
    at_start: bool,
    after_cr: bool,
}

impl Parser {
    /// A reader at the start of a stream that holds at most `limit` bytes for
    /// one line and for the data of one event.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            event: Event::default(),
            has_data: false,
            is_other: false,
            at_start: true,
            after_cr: false,
        }
    }

    /// Reads a chunk and appends the events that it completes.
    ///
    /// # Errors
    /// [`Overflow`] when a line or an event outgrows the limit; the stream
    /// cannot be read any further.
    pub fn push(&mut self, mut chunk: &[u8], events: &mut Vec<Event>) -> Result<(), Overflow> {
        if self.after_cr && !chunk.is_empty() {
            self.after_cr = false;
            chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
        }
        while let Some(end) = chunk.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            let (head, tail) = chunk.split_at(end);
            self.hold(head)?;
            let line = std::mem::take(&mut self.line);
            self.line(&line, events)?;
            self.line = line;
            self.line.clear();
            chunk = match tail {
                [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => rest,
                [b'\r', rest @ ..] => {
                    self.after_cr = rest.is_empty();
                    rest
                }
                _ => tail,
            };
        }
        self.hold(chunk)
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), Overflow> {
        // A field's name and the mark at the start come on top of the data.
        if self.line.len() + bytes.len() > self.limit.saturating_add(16) {
            return Err(Overflow { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn line(&mut self, line: &[u8], events: &mut Vec<Event>) -> Result<(), Overflow> {
        let line = if std::mem::take(&mut self.at_start) {
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            let is_other = std::mem::take(&mut self.is_other);
            if std::mem::take(&mut self.has_data) && !is_other {
                events.push(event);
            }
            return Ok(());
        }
        let colon = line
            .iter()
            .position(|byte| *byte == b':')
            .unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                let separator = usize::from(self.has_data);
                if self.event.data.len() + separator + value.len() > self.limit {
                    return Err(Overflow { limit: self.limit });
                }
                if self.has_data {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"id" if !value.contains(&0) => self.event.id = Some(value.to_vec()),
            b"event" => self.is_other = !matches!(value, b"" | b"message"),
            // `retry`, comments and what nobody knows.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &[u8], chunk: usize) -> Vec<(Option<Vec<u8>>, Vec<u8>)> {
        let mut parser = Parser::new(4 << 20);
        let mut events = Vec::new();
        for piece in stream.chunks(chunk) {
            parser.push(piece, &mut events).unwrap();
        }
        events
            .into_iter()
            .map(|event| (event.id, event.data))
            .collect()
    }

    #[test]
    fn however_the_stream_is_cut_the_events_are_the_same() {
        type Case<'c> = (&'c str, &'c [u8], &'c [&'c [u8]]);
        let cases: [Case<'_>; 13] = [
            ("LF", b"data: {}\n\n", &[b"{}"]),
            ("CRLF", b"data: {}\r\n\r\ndata: 2\r\n\r\n", &[b"{}", b"2"]),
            (
                "CRLF between lines of one event",
                b"data: 1\r\ndata: 2\r\n\r\n",
                &[b"1\n2"],
            ),
            (
                "events with a name of their own are none",
                b"event: ping\ndata: x\n\nevent:other\ndata: 1\n\ndata: 2\nevent: end\n\ndata: 3\n\n",
                &[b"3"],
            ),
            (
                "the last name counts, and an empty one is none",
                b"event: ping\nevent: message\ndata: 1\n\nevent: ping\nevent\ndata: 2\n\n\
                  event: message\nevent: ping\ndata: 3\n\nevent: Message\ndata: 4\n\n",
                &[b"1", b"2"],
            ),
            (
                "a name without data is of no other event",
                b"event: ping\n\ndata: 1\n\n",
                &[b"1"],
            ),
            ("CR alone", b"data: {}\r\rdata: 2\r\r", &[b"{}", b"2"]),
            (
                "a byte order mark at the start",
                b"\xEF\xBB\xBFdata: 1\n\n",
                &[b"1"],
            ),
            (
                "a priming event",
                b"id: 7\ndata:\n\ndata: 1\n\n",
                &[b"", b"1"],
            ),
            (
                "an event without data is none",
                b"id: 7\nretry: 3\n\ndata: 1\n\n",
                &[b"1"],
            ),
            ("comments", b": hello\n\n:\ndata: 1\n\n", &[b"1"]),
            (
                "two data lines",
                b"event: message\ndata: {\ndata:  }\n\n",
                &[b"{\n }"],
            ),
            (
                "an event that the end cuts off",
                b"data: 1\n\ndata: 2\n",
                &[b"1"],
            ),
        ];
        for (name, stream, expected) in cases {
            for chunk in 1..=stream.len() {
                let data: Vec<_> = read(stream, chunk)
                    .into_iter()
                    .map(|(_, data)| data)
                    .collect();
                assert_eq!(data, expected, "{name}, chunks of {chunk}");
            }
        }
    }

    #[test]
    fn a_field_takes_one_space_off_its_value_and_a_name_alone_is_an_empty_value() {
        assert_eq!(
            read(b"id\ndata:  x\n\n", 3),
            [(Some(Vec::new()), b" x".to_vec())]
        );
    }

    #[test]
    fn an_id_with_a_nul_is_none() {
        let events = read(b"id: a\0b\ndata: 1\n\nid: c\ndata: 2\n\n", 3);
        let ids: Vec<_> = events.into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, [None, Some(b"c".to_vec())]);
    }

    #[test]
    fn a_data_line_of_two_mebibytes_is_one_event() {
        let mut stream = b"data: ".to_vec();
        stream.resize(2 << 20, b'x');
        stream.extend_from_slice(b"\n\n");
        let events = read(&stream, 1400);
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].1.len(), (2 << 20) - 6);
    }

    #[test]
    fn more_than_the_limit_ends_the_stream_whether_in_one_line_or_many() {
        let mut events = Vec::new();
        let mut parser = Parser::new(8);
        assert_eq!(
            parser.push(&[b'x'; 64], &mut events),
            Err(Overflow { limit: 8 })
        );
        let mut parser = Parser::new(8);
        assert_eq!(
            parser.push(b"data: 12345\ndata: 6789\n\n", &mut events),
            Err(Overflow { limit: 8 })
        );
        let mut parser = Parser::new(8);
        assert_eq!(
            parser.push(b"event: ping\ndata: 12345\ndata: 6789\n\n", &mut events),
            Err(Overflow { limit: 8 }),
            "also of an event that is none"
        );
        let mut parser = Parser::new(8);
        parser.push(b"data: 12345678\n\n", &mut events).unwrap();
        assert_eq!(events.len(), 1);
    }

    #[test]
    fn what_just_fits_into_the_limit_is_taken_and_a_byte_more_is_not() {
        for (last, fits) in [("4567", true), ("45678", false)] {
            let stream = format!("data: 123\ndata: {last}\n\n");
            let mut events = Vec::new();
            let pushed = Parser::new(8).push(stream.as_bytes(), &mut events);
            assert_eq!(pushed.is_ok(), fits, "the line end between lines counts");
            assert_eq!(events.len(), usize::from(fits));
        }
        // A name and a mark at the start come on top.
        for (bytes, fits) in [(24, true), (25, false)] {
            let comment = format!(":{}\n", "x".repeat(bytes - 1));
            let pushed = Parser::new(8).push(comment.as_bytes(), &mut Vec::new());
            assert_eq!(pushed.is_ok(), fits, "{bytes}");
        }
    }
}
