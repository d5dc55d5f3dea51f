//! Events as we write them.

/// Appends one event with `data`; each line of it becomes a `data` field.
///
/// In JSON a raw CR or LF is white space between tokens, so splitting there
/// keeps every value.
pub fn event(out: &mut Vec<u8>, id: Option<&str>, data: &[u8]) {
    if let Some(id) = id {
        out.extend_from_slice(b"id: ");
        out.extend(id.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n' | 0)));
        out.push(b'\n');
    }
    for line in data.split(|byte| matches!(byte, b'\r' | b'\n')) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.push(b'\n');
}

/// Appends a comment: it keeps a quiet connection open and means nothing.
pub fn comment(out: &mut Vec<u8>) {
    out.extend_from_slice(b":\n\n");
}

#[cfg(test)]
mod tests {
    use super::super::Parser;
    use super::*;

    #[test]
    fn a_comment_is_written_and_is_no_event() {
        let mut bytes = Vec::new();
        comment(&mut bytes);
        assert_eq!(bytes, b":\n\n");
        let mut events = Vec::new();
        Parser::new(100).push(&bytes, &mut events).unwrap();
        assert!(events.is_empty());
    }

    #[test]
    fn data_with_line_ends_reads_back_with_the_same_values() {
        let mut bytes = Vec::new();
        comment(&mut bytes);
        event(&mut bytes, Some("a\nb"), b"{\r\n \"x\": 1.0\n}");
        let mut events = Vec::new();
        Parser::new(100).push(&bytes, &mut events).unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].id.as_deref(), Some(&b"ab"[..]));
        assert_eq!(events[0].data, b"{\n\n \"x\": 1.0\n}");
    }
}
