//! Strict reading: each row is one sentence of `docs/spec/action-binding.md` §1.

use countersign_canon::{Code, Document, Limits};

type Fault<'a> = (Code, usize, &'a str);

fn read(text: &[u8]) -> Result<(), (Code, usize, String)> {
    match Document::read(text, Limits::STANDARD) {
        Ok(_) => Ok(()),
        Err(refusal) => Err((refusal.code, refusal.offset as usize, refusal.pointer)),
    }
}

#[track_caller]
fn refused(why: &str, text: &[u8], (code, offset, pointer): Fault<'_>) {
    let shown = String::from_utf8_lossy(text.get(..80).unwrap_or(text)).into_owned();
    assert_eq!(
        read(text),
        Err((code, offset, pointer.into())),
        "{why}: {shown}"
    );
}

#[track_caller]
fn rows(rows: &[(&str, &[u8], Fault<'_>)]) {
    for (why, text, fault) in rows {
        refused(why, text, *fault);
    }
}

use Code::{DuplicateMember as Duplicate, Encoding, Limit, Surrogate, Syntax};

#[test]
fn what_rfc_8259_allows_is_read() {
    for text in [
        "null",
        " true ",
        "\t\r\n[ ]\n",
        "{}",
        "0",
        "-0",
        "1.50e+10",
        "1E-1",
        "\"\"",
        "[[],{}]",
        r#"{"a":{"a":[{"a":1},{"a":1}]}}"#,
        r#""\ud83d\ude00\uD83D\uDE00""#,
        r#""\"\\\/\b\f\n\r\t\u0000""#,
        "\"\u{7f}\u{80}\u{7ff}\u{800}\u{ffff}\u{10000}\u{10ffff}\"",
        "\"\u{feff}\"",
        r#"{"":1," ":2}"#,
        "1e400",
        "123456789012345678901234567890",
    ] {
        assert_eq!(read(text.as_bytes()), Ok(()), "{text}");
    }
}

#[test]
fn a_text_that_ends_too_early_is_a_fault_at_its_end() {
    rows(&[
        ("nothing at all", b"", (Syntax, 0, "")),
        ("only white space", b"  ", (Syntax, 2, "")),
        ("in a container", b"[1", (Syntax, 2, "")),
        ("a complete number is over", b"[[1", (Syntax, 3, "/0")),
        (
            "an unfinished number is being read",
            b"[1.",
            (Syntax, 3, "/0"),
        ),
        ("a sign alone", b"[-", (Syntax, 2, "/0")),
        (
            "an unfinished literal is being read",
            b"[nul",
            (Syntax, 4, "/0"),
        ),
        ("a complete literal is over", b"[null", (Syntax, 5, "")),
        ("in a string value", b"{\"a\":\"b", (Syntax, 7, "/a")),
        ("in a name", b"{\"a\":{\"b", (Syntax, 8, "/a")),
        ("before a value's first byte", b"{\"a\":", (Syntax, 5, "")),
        ("within a character", b"[\"\xe2\x82", (Encoding, 4, "/0")),
        (
            "within a character of a name",
            b"{\"\xc3",
            (Encoding, 3, ""),
        ),
        ("within an escape", b"[\"\\", (Syntax, 3, "/0")),
        ("within a hex escape", b"[\"\\u00", (Syntax, 6, "/0")),
        ("after a high surrogate", b"[\"\\ud800", (Syntax, 8, "/0")),
        ("within a pair", b"[\"\\ud800\\ud", (Syntax, 11, "/0")),
        (
            "a name closing twice there is only the second fault",
            b"{\"a\":1,\"a\"",
            (Syntax, 10, ""),
        ),
        (
            "a byte order mark that is cut off",
            b"\xef\xbb",
            (Syntax, 1, ""),
        ),
    ]);
}

#[test]
fn the_byte_order_mark_and_other_encodings_are_refused() {
    rows(&[
        ("the mark", b"\xef\xbb\xbf{}", (Encoding, 3, "")),
        ("utf-16, marked", b"\xff\xfe{\0", (Encoding, 1, "")),
        ("utf-16 big-endian, unmarked", b"\0{\0}", (Syntax, 1, "")),
        ("utf-16 little-endian, unmarked", b"{\0}\0", (Syntax, 2, "")),
        ("a mark elsewhere", b"[\xef\xbb\xbf]", (Syntax, 2, "")),
    ]);
}

#[test]
fn ill_formed_utf_8_is_certain_at_the_first_byte_that_cannot_continue() {
    rows(&[
        ("a lone continuation", b"[\"a\x80\"]", (Encoding, 4, "/0")),
        ("c0 never occurs", b"[\"\xc0\x80\"]", (Encoding, 3, "/0")),
        ("c1 never occurs", b"[\"\xc1\"]", (Encoding, 3, "/0")),
        ("f5 never occurs", b"[\"\xf5\"]", (Encoding, 3, "/0")),
        ("ff never occurs", b"[\"\xff\"]", (Encoding, 3, "/0")),
        ("two bytes torn", b"[\"\xc3\"]", (Encoding, 4, "/0")),
        (
            "overlong in three",
            b"[\"\xe0\x80\x80\"]",
            (Encoding, 4, "/0"),
        ),
        ("three bytes torn", b"[\"\xe2\x82\"]", (Encoding, 5, "/0")),
        ("a surrogate", b"[\"\xed\xa0\x80\"]", (Encoding, 4, "/0")),
        (
            "overlong in four",
            b"[\"\xf0\x8f\xbf\xbf\"]",
            (Encoding, 4, "/0"),
        ),
        (
            "past the last code point",
            b"[\"\xf4\x90\x80\x80\"]",
            (Encoding, 4, "/0"),
        ),
        (
            "four bytes torn",
            b"[\"\xf0\x90\x80A\"]",
            (Encoding, 6, "/0"),
        ),
        (
            "in a name it belongs to the object",
            b"{\"a\":{\"\x80\":1}}",
            (Encoding, 8, "/a"),
        ),
        (
            "outside strings, no start of anything",
            b"[1,\x80]",
            (Encoding, 4, ""),
        ),
        (
            "outside strings, text where none may be",
            b"[1,\xc3\xa9]",
            (Syntax, 4, ""),
        ),
        ("after the root", b"1\xff", (Encoding, 2, "")),
        ("in a literal", b"[tr\xff", (Encoding, 4, "/0")),
        ("in place of a digit", b"[1.\xff", (Encoding, 4, "/0")),
        (
            "after a number it is the container's",
            b"[1\xff",
            (Encoding, 3, ""),
        ),
        (
            "in place of an escape's letter",
            b"[\"\\\xff\"]",
            (Encoding, 4, "/0"),
        ),
        (
            "text in place of an escape's letter",
            b"[\"\\\xc3\xa9\"]",
            (Syntax, 4, "/0"),
        ),
        (
            "in place of a hex digit",
            b"[\"\\u0\xff\"]",
            (Encoding, 6, "/0"),
        ),
    ]);
}

#[test]
fn a_sequence_is_text_exactly_where_utf_8_says_so() {
    let edges = [0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0];
    let judge = |sequence: &[u8]| {
        let text = [b"\"", sequence, b"\""].concat();
        let expected = std::str::from_utf8(&text).map(drop).map_err(|fault| {
            let at = fault.valid_up_to();
            // What can begin a sequence is read, and the byte behind its good part decides.
            let begins = (0xC2..=0xF4).contains(&text[at]);
            let good = fault.error_len().filter(|_| begins).unwrap_or_default();
            (Encoding, at + good + 1, String::new())
        });
        assert_eq!(read(&text), expected, "{sequence:x?}");
    };
    for lead in 0x80..=0xFF {
        judge(&[lead]);
        for second in edges {
            judge(&[lead, second]);
            for third in [0x7F, 0x80, 0xBF, 0xC0] {
                judge(&[lead, second, third]);
                for fourth in [0x7F, 0x80, 0xBF, 0xC0] {
                    judge(&[lead, second, third, fourth]);
                }
            }
        }
    }
}

#[test]
fn what_rfc_8259_does_not_allow_is_certain_at_the_byte_that_breaks_it() {
    rows(&[
        ("NaN", b"[NaN]", (Syntax, 2, "")),
        ("not a literal", b"[nil]", (Syntax, 3, "/0")),
        ("more than a literal", b"[nullx]", (Syntax, 6, "")),
        ("a trailing comma in an array", b"[1,]", (Syntax, 4, "")),
        (
            "a trailing comma in an object",
            b"{\"a\":1,}",
            (Syntax, 8, ""),
        ),
        ("a comma first", b"[,1]", (Syntax, 2, "")),
        ("two commas", b"[1,,1]", (Syntax, 4, "")),
        ("a comment", b"[1/*x*/]", (Syntax, 3, "")),
        ("single quotes", b"['a']", (Syntax, 2, "")),
        ("a bare name", b"{a:1}", (Syntax, 2, "")),
        ("no colon", b"{\"a\" 1}", (Syntax, 6, "")),
        ("an equals sign", b"{\"a\"=1}", (Syntax, 5, "")),
        ("a member in an array", b"[\"a\":1]", (Syntax, 5, "")),
        ("an item in an object", b"{1}", (Syntax, 2, "")),
        ("the wrong bracket", b"{\"a\":[1}]", (Syntax, 8, "/a")),
        ("the other wrong bracket", b"[{]", (Syntax, 3, "/0")),
        ("bytes after the value", b"{} x", (Syntax, 4, "")),
        ("a NUL after the value", b"{}\0", (Syntax, 3, "")),
        ("two values", b"1 2", (Syntax, 3, "")),
        ("a form feed between", b"[\x0c1]", (Syntax, 2, "")),
        (
            "a control character in a string",
            b"[\"\x1f\"]",
            (Syntax, 3, "/0"),
        ),
        ("a line feed in a name", b"{\"\n\":1}", (Syntax, 3, "")),
        ("no such escape", b"[\"\\x\"]", (Syntax, 4, "/0")),
        ("no hex digit", b"[\"\\u00g0\"]", (Syntax, 7, "/0")),
        ("a leading zero", b"[01]", (Syntax, 3, "")),
        ("a leading zero behind a sign", b"[-01]", (Syntax, 4, "")),
        ("a plus sign", b"[+1]", (Syntax, 2, "")),
        ("no digit before the point", b"[.5]", (Syntax, 2, "")),
        ("no digit after the point", b"[1.]", (Syntax, 4, "/0")),
        ("no digit in the exponent", b"[1e]", (Syntax, 4, "/0")),
        (
            "no digit after the exponent's sign",
            b"[1e+x]",
            (Syntax, 5, "/0"),
        ),
        ("no digit after the sign", b"[-x]", (Syntax, 3, "/0")),
        ("hexadecimal", b"[0x1]", (Syntax, 3, "")),
        ("a letter after a number", b"[12x]", (Syntax, 4, "")),
        ("the second item", b"[1,{\"b\":tru3}]", (Syntax, 12, "/1/b")),
    ]);
}

#[test]
fn an_unpaired_surrogate_escape_is_certain_where_nothing_could_pair_it() {
    rows(&[
        ("a low half alone", b"[\"\\udc00\"]", (Surrogate, 6, "/0")),
        ("in uppercase", b"[\"\\uDFFF\"]", (Surrogate, 6, "/0")),
        (
            "a high half, then the end",
            b"[\"\\ud800\"]",
            (Surrogate, 9, "/0"),
        ),
        (
            "a high half, then text",
            b"[\"\\ud800a\"]",
            (Surrogate, 9, "/0"),
        ),
        (
            "a high half, then longer text",
            b"[\"\\ud800\xc3\xa9\"]",
            (Surrogate, 9, "/0"),
        ),
        (
            "a high half, then no text at all",
            b"[\"\\ud800\xff\"]",
            (Encoding, 9, "/0"),
        ),
        (
            "a high half, then a control",
            b"[\"\\ud800\n\"]",
            (Syntax, 9, "/0"),
        ),
        ("another escape", b"[\"\\ud800\\n\"]", (Surrogate, 10, "/0")),
        ("no escape", b"[\"\\ud800\\x\"]", (Syntax, 10, "/0")),
        (
            "an escape that is no surrogate",
            b"[\"\\ud800\\u0041\"]",
            (Surrogate, 11, "/0"),
        ),
        (
            "a digit that is none",
            b"[\"\\ud800\\ug\"]",
            (Syntax, 11, "/0"),
        ),
        (
            "another high half",
            b"[\"\\ud800\\ud800\"]",
            (Surrogate, 12, "/0"),
        ),
        (
            "an escape below the surrogates",
            b"[\"\\ud800\\ud700\"]",
            (Surrogate, 12, "/0"),
        ),
        (
            "a second digit that is none",
            b"[\"\\ud800\\ud\"\"]",
            (Syntax, 12, "/0"),
        ),
        (
            "a third digit that is none",
            b"[\"\\ud800\\udc\"\"]",
            (Syntax, 13, "/0"),
        ),
        (
            "in a name",
            b"{\"a\":{\"\\udc00\":1}}",
            (Surrogate, 11, "/a"),
        ),
    ]);
    assert_eq!(read(b"[\"\\ud7ff\\ue000\"]"), Ok(()));
}

#[test]
fn a_duplicate_is_certain_where_the_second_name_closes() {
    rows(&[
        ("side by side", br#"{"a":1,"a":2}"#, (Duplicate, 10, "")),
        (
            "after unescaping",
            br#"{"a":1,"\u0061":2}"#,
            (Duplicate, 15, ""),
        ),
        (
            "both escaped",
            br#"{"\u0061":1,"\u0061" : 2}"#,
            (Duplicate, 20, ""),
        ),
        ("empty names", br#"{"":1,"":2}"#, (Duplicate, 8, "")),
        (
            "far apart",
            br#"{"a":1,"b":[{"c":{}}],"a" : 2}"#,
            (Duplicate, 25, ""),
        ),
        (
            "deep inside",
            br#"[0,{"x":[{"a":1,"a":2}]}]"#,
            (Duplicate, 19, "/1/x/0"),
        ),
        (
            "the second of three",
            br#"{"a":1,"a":2,"a":3}"#,
            (Duplicate, 10, ""),
        ),
        (
            "the earlier of two",
            br#"{"b":1,"a":1,"a":2,"b":3}"#,
            (Duplicate, 16, ""),
        ),
        (
            "an outer one before an inner one",
            br#"{"a":1,"a":{"b":1,"b":1}}"#,
            (Duplicate, 10, ""),
        ),
        (
            "an inner one before an outer one",
            br#"{"a":{"b":1,"b":1},"a":1}"#,
            (Duplicate, 15, "/a"),
        ),
        (
            "before a syntax error",
            br#"{"a":1,"a":x"#,
            (Duplicate, 10, ""),
        ),
        (
            "before one deeper down",
            br#"{"a":1,"a":[{"b":[x"#,
            (Duplicate, 10, ""),
        ),
        (
            "after a syntax error there is none",
            br#"{"a":1,,"a":1}"#,
            (Syntax, 8, ""),
        ),
        ("before the end", br#"{"a":1,"a":"#, (Duplicate, 10, "")),
        (
            "a name that does not close counts for nothing",
            br#"{"a":1,"a"#,
            (Syntax, 9, ""),
        ),
        (
            "in two open objects the earlier",
            br#"{"b":1,"b":{"a":1,"a":x"#,
            (Duplicate, 10, ""),
        ),
        (
            "a pending name is only the innermost's",
            br#"{"a":1,"c":2,"b":{"a"x"#,
            (Syntax, 22, "/b"),
        ),
    ]);
    let apart = format!(
        r#"{{"a":0,{}"a":1}}"#,
        (0..1000).map(|n| format!("\"{n}\":0,")).collect::<String>()
    );
    refused(
        "a thousand members apart",
        apart.as_bytes(),
        (Duplicate, apart.len() - 3, ""),
    );
}

#[test]
fn what_is_counted_is_refused_at_the_first_byte_too_many() {
    let nested = |depth: usize, open: &str, close: &str| {
        format!("{}{}", open.repeat(depth), close.repeat(depth)).into_bytes()
    };
    assert_eq!(read(&nested(64, "[", "]")), Ok(()));
    let steps = "/0".repeat(64);
    refused("65 arrays", &nested(65, "[", "]"), (Limit, 65, &steps));
    refused(
        "100,000 arrays",
        &nested(100_000, "[", "]"),
        (Limit, 65, &steps),
    );
    let text = format!("{}{{", "{\"a\":".repeat(64));
    refused(
        "65 objects",
        text.as_bytes(),
        (Limit, 64 * 5 + 1, &"/a".repeat(64)),
    );

    let digits = |count: usize| format!("[{}]", "1".repeat(count)).into_bytes();
    assert_eq!(read(&digits(1024)), Ok(()));
    refused("1,025 digits", &digits(1025), (Limit, 1026, "/0"));
    refused("a million digits", &digits(1_000_000), (Limit, 1026, "/0"));
    let with = |digits: usize, tail: &str| format!("[{}{tail}", "1".repeat(digits)).into_bytes();
    refused(
        "a fraction past it",
        &with(1024, ".5]"),
        (Limit, 1026, "/0"),
    );
    refused(
        "a fault right behind it",
        &with(1024, "x"),
        (Syntax, 1026, ""),
    );
    refused(
        "a digit missing at it",
        &with(1023, ".x"),
        (Syntax, 1026, "/0"),
    );
    refused(
        "a digit missing past it",
        &with(1023, "e+x"),
        (Limit, 1026, "/0"),
    );
    refused("an end past it", &with(1024, "."), (Limit, 1026, "/0"));
    refused("an end at it", &with(1023, "."), (Syntax, 1025, "/0"));

    let items = |count: usize| format!("[{}0]", "0,".repeat(count - 2)).into_bytes();
    assert_eq!(read(&items(262_144)), Ok(()));
    let last = 1 + 2 * 262_143 + 1;
    refused("262,145 values", &items(262_145), (Limit, last, "/262143"));
    let mut comma = items(262_144);
    comma.pop();
    comma.push(b',');
    refused(
        "a comma is not yet one too many",
        &comma,
        (Syntax, comma.len(), ""),
    );
    comma.extend(b"x");
    refused(
        "nor is a byte that begins no value",
        &comma,
        (Syntax, comma.len(), ""),
    );

    let filled = |bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2)).into_bytes();
    assert_eq!(read(&filled(10_485_760)), Ok(()));
    refused(
        "a byte too many",
        &filled(10_485_761),
        (Limit, 10_485_761, ""),
    );
    let marked = vec![0xEF; 10_485_761];
    refused(
        "size comes before everything",
        &marked,
        (Limit, 10_485_761, ""),
    );
}

#[test]
fn a_pointer_is_escaped_unescaped_once_and_cut_after_a_whole_step() {
    rows(&[
        ("slash and tilde", br#"{"a/b~":x"#, (Syntax, 9, "")),
        (
            "in their member",
            br#"{"a/b~":[tx"#,
            (Syntax, 11, "/a~1b~0/0"),
        ),
        (
            "escapes are undone",
            b"{\"\\u00e9\\n\":[tx",
            (Syntax, 15, "/\u{e9}\n/0"),
        ),
        (
            "an empty name is a step",
            br#"{"":{"":tx"#,
            (Syntax, 10, "//"),
        ),
        (
            "positions count values",
            br#"[{},[],"",[0,tx"#,
            (Syntax, 15, "/3/1"),
        ),
    ]);
    let long = "n".repeat(300);
    let text = format!(r#"{{"a":{{"{long}":{{"b":tx"#);
    refused(
        "a step that does not fit ends it",
        text.as_bytes(),
        (Syntax, text.len(), "/a"),
    );
    let exact = "n".repeat(254);
    let text = format!(r#"{{"{exact}":[tx"#);
    refused(
        "the next step may not fit",
        text.as_bytes(),
        (Syntax, text.len(), &format!("/{exact}")),
    );
    let text = format!(r#"{{"{}":[tx"#, "~".repeat(127));
    refused(
        "256 bytes are within it",
        text.as_bytes(),
        (Syntax, text.len(), &format!("/{}", "~0".repeat(127))),
    );
}
