//! Properties over generated messages: whatever the spelling, one value has
//! one canonical form, and a fault is decided by the bytes up to it.
//!
//! The generator is seeded and its own; the expected canonical form comes from
//! a writer that shares no code with the library.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on says so"
)]

use std::collections::BTreeMap;

use countersign_canon::{
    Admitted, Document, Limits, Node, Numbers, Value, View, admit, envelop, interpret,
};

/// Marsaglia's xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % bound
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// A JSON value; members are kept in the order of their UTF-16 code units.
#[derive(Clone, Debug, PartialEq)]
enum Json {
    Word(&'static str),
    Number(&'static str),
    Text(String),
    Array(Vec<Json>),
    Object(BTreeMap<Vec<u16>, Json>),
}

const LEXEMES: &[&str] = &[
    "0",
    "-0",
    "1",
    "1.0",
    "1e0",
    "1E0",
    "-1",
    "10",
    "9007199254740991",
    "9007199254740993",
    "-9223372036854775808",
    "9223372036854775808",
    "1e400",
    "0.10",
    "123456789012345678901234567890",
];
const LETTERS: &[&str] = &[
    "a",
    "b",
    "A",
    "0",
    " ",
    "/",
    "\"",
    "\\",
    "\u{8}",
    "\n",
    "\u{0}",
    "\u{1f}",
    "\u{7f}",
    "é",
    "e\u{301}",
    "\u{2028}",
    "\u{d7ff}",
    "\u{e000}",
    "\u{ffff}",
    "😀",
    "\u{10ffff}",
    "__entity",
    "plain run of text",
];

fn text(random: &mut Random) -> String {
    (0..random.below(5)).map(|_| random.pick(LETTERS)).collect()
}

fn json(random: &mut Random, depth: usize) -> Json {
    match random.below(if depth == 0 { 6 } else { 9 }) {
        0 => Json::Word(random.pick(&["null", "true", "false"])),
        1..=2 => Json::Number(random.pick(LEXEMES)),
        3..=5 => Json::Text(text(random)),
        6 => Json::Array(
            (0..random.below(5))
                .map(|_| json(random, depth - 1))
                .collect(),
        ),
        _ => object(random, depth),
    }
}

fn object(random: &mut Random, depth: usize) -> Json {
    // Now and then many members, so that both ways of sorting are met.
    let count = if random.below(40) == 0 {
        100
    } else {
        random.below(6)
    };
    let member = |random: &mut Random| {
        let name = if count == 100 {
            format!("same{}{}", random.below(300), text(random))
        } else {
            text(random)
        };
        (
            name.encode_utf16().collect(),
            json(random, depth.saturating_sub(1)),
        )
    };
    Json::Object((0..count).map(|_| member(random)).collect())
}

fn name(units: &[u16]) -> String {
    String::from_utf16(units).unwrap()
}

/// The canonical form, written by a writer of its own.
fn canonical(value: &Json) -> String {
    let quoted = |text: &str| {
        let escaped = text.chars().map(|letter| match letter {
            '"' => "\\\"".into(),
            '\\' => "\\\\".into(),
            '\u{8}' => "\\b".into(),
            '\t' => "\\t".into(),
            '\n' => "\\n".into(),
            '\u{c}' => "\\f".into(),
            '\r' => "\\r".into(),
            '\0'..='\u{1f}' => format!("\\u{:04x}", u32::from(letter)),
            _ => letter.to_string(),
        });
        format!("\"{}\"", escaped.collect::<String>())
    };
    match value {
        Json::Word(word) | Json::Number(word) => (*word).to_string(),
        Json::Text(text) => quoted(text),
        Json::Array(items) => format!(
            "[{}]",
            items.iter().map(canonical).collect::<Vec<_>>().join(",")
        ),
        Json::Object(members) => {
            let member = |(units, value): (&Vec<u16>, &Json)| {
                format!("{}:{}", quoted(&name(units)), canonical(value))
            };
            format!(
                "{{{}}}",
                members.iter().map(member).collect::<Vec<_>>().join(",")
            )
        }
    }
}

/// How freely a value is spelled.
#[derive(Clone, Copy, PartialEq)]
enum Spelling {
    Compact,
    Free,
}

fn space(random: &mut Random, how: Spelling, out: &mut String) {
    if how == Spelling::Free && random.below(4) == 0 {
        out.push_str(random.pick(&[" ", "\n", "\t ", "\r\n"]));
    }
}

fn spell_text(random: &mut Random, how: Spelling, text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        let must = matches!(letter, '"' | '\\' | '\0'..='\u{1f}');
        if must || (how == Spelling::Free && random.below(6) == 0) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let hex = format!("\\u{unit:04x}");
                out.push_str(&if random.below(2) == 0 {
                    hex
                } else {
                    hex.to_uppercase().replace("\\U", "\\u")
                });
            }
        } else {
            out.push(letter);
        }
    }
    out.push('"');
}

/// One of the many spellings of a value.
fn spell(random: &mut Random, how: Spelling, value: &Json, out: &mut String) {
    space(random, how, out);
    match value {
        Json::Word(word) | Json::Number(word) => out.push_str(word),
        Json::Text(text) => spell_text(random, how, text, out),
        Json::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                spell(random, how, item, out);
            }
            space(random, how, out);
            out.push(']');
        }
        Json::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            for last in (1..members.len()).rev() {
                members.swap(last, random.below(last + 1));
            }
            out.push('{');
            for (position, (units, value)) in members.into_iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                space(random, how, out);
                spell_text(random, how, &name(units), out);
                space(random, how, out);
                out.push(':');
                spell(random, how, value, out);
            }
            space(random, how, out);
            out.push('}');
        }
    }
    space(random, how, out);
}

fn spelled(random: &mut Random, value: &Json) -> String {
    let how = if random.below(2) == 0 {
        Spelling::Compact
    } else {
        Spelling::Free
    };
    let mut out = String::new();
    spell(random, how, value, &mut out);
    out
}

/// The nodes of a value, made from the model.
fn nodes(called: Option<String>, value: &Json, out: &mut Vec<Node>) {
    let count = |length: usize| u32::try_from(length).unwrap();
    let own = match value {
        Json::Word("null") => Value::Null,
        Json::Word(word) => Value::Boolean(*word == "true"),
        Json::Number(lexeme) => match lexeme.parse::<i64>() {
            Ok(integer) if integer.to_string() == *lexeme => Value::Integer(integer),
            _ => Value::Number((*lexeme).into()),
        },
        Json::Text(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::Array(count(items.len())),
        Json::Object(members) => Value::Object(count(members.len())),
    };
    out.push(Node {
        name: called,
        value: own,
    });
    match value {
        Json::Array(items) => items.iter().for_each(|item| nodes(None, item, out)),
        Json::Object(members) => {
            members
                .iter()
                .for_each(|(units, value)| nodes(Some(name(units)), value, out));
        }
        _ => {}
    }
}

#[test]
fn one_value_has_one_canonical_form_however_it_is_spelled() {
    let mut random = Random(0x5EED_0001);
    for _ in 0..4_000 {
        let value = json(&mut random, 4);
        let expected = canonical(&value);
        for _ in 0..3 {
            let text = spelled(&mut random, &value);
            let document = Document::read(text.as_bytes(), Limits::STANDARD).expect(&text);
            assert_eq!(document.root().canonical(), expected.as_bytes(), "{text}");
        }
        let again = Document::read(expected.as_bytes(), Limits::STANDARD).unwrap();
        assert_eq!(again.root().canonical(), expected.as_bytes());
    }
}

#[test]
fn the_action_of_a_call_is_interpreted_as_the_value_that_was_meant() {
    let mut random = Random(0x5EED_0002);
    let profile = "exact@1.0.0".parse().unwrap();
    for _ in 0..3_000 {
        let arguments = object(&mut random, 4);
        let mut action: BTreeMap<Vec<u16>, Json> = BTreeMap::new();
        let mut put = |name: &str, value: Json| action.insert(name.encode_utf16().collect(), value);
        put("name", Json::Text("n".into()));
        put("arguments", arguments);
        if random.below(3) == 0 {
            put("task", object(&mut random, 2));
        }
        let params = spelled(&mut random, &Json::Object(action.clone()));
        let message =
            format!(r#"{{"params":{params},"method":"tools/call","jsonrpc":"2.0","id":1}}"#);
        let call = |message: &[u8]| match admit(Numbers::AsWritten, message) {
            Ok(Admitted::Call(call)) => call,
            other => panic!("{}: {other:?}", String::from_utf8_lossy(message)),
        };
        let bound = call(message.as_bytes()).action;
        action.insert(
            "method".encode_utf16().collect(),
            Json::Text("tools/call".into()),
        );
        let action = Json::Object(action);
        assert_eq!(bound, canonical(&action).as_bytes());
        assert_eq!(call(&envelop(&bound).unwrap()).action, bound);
        let read = interpret(&profile, Numbers::AsWritten, &bound).unwrap();
        let mut expected = Vec::new();
        nodes(None, &action, &mut expected);
        assert_eq!(read.view, expected);
        let view = View::new(read.view).unwrap();
        for cursor in view.iter() {
            assert_eq!(view.get(&cursor.pointer()).unwrap().index(), cursor.index());
        }
    }
}

#[test]
fn values_that_differ_have_canonical_forms_that_differ() {
    let mut random = Random(0x5EED_0003);
    let mut seen: BTreeMap<Vec<u8>, Json> = BTreeMap::new();
    for _ in 0..10_000 {
        let value = json(&mut random, 2);
        let text = spelled(&mut random, &value);
        let form = Document::read(text.as_bytes(), Limits::STANDARD)
            .unwrap()
            .root()
            .canonical();
        if let Some(other) = seen.insert(form, value.clone()) {
            assert_eq!(other, value);
        }
    }
}

#[test]
fn a_fault_is_decided_by_the_bytes_up_to_it() {
    let mut random = Random(0x5EED_0004);
    let junk: &[&[u8]] = &[
        b"\"",
        b"{",
        b"]",
        b",",
        b":",
        b"\\",
        b"\x80",
        b"\xf0",
        b"\\ud800",
        b"0",
        b"1e",
        b"\x01",
        b"tru",
        b"\"a\":1,\"a\":1,",
    ];
    let mut refused = 0;
    for _ in 0..20_000 {
        let value = object(&mut random, 3);
        let mut bytes = spelled(&mut random, &value).into_bytes();
        for _ in 0..=random.below(2) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes.truncate(at.max(1)),
                1 => drop(bytes.splice(at..=at, random.pick(junk).iter().copied())),
                _ => drop(bytes.splice(at..at, random.pick(junk).iter().copied())),
            }
        }
        let Err(refusal) = Document::read(&bytes, Limits::STANDARD) else {
            continue;
        };
        refused += 1;
        let offset = refusal.offset as usize;
        assert!(offset <= bytes.len());
        if offset < bytes.len() {
            bytes.truncate(offset);
            bytes.extend_from_slice(random.pick(junk));
            assert_eq!(
                Document::read(&bytes, Limits::STANDARD).unwrap_err(),
                refusal,
                "{bytes:?}"
            );
        }
    }
    assert!(refused > 5_000, "only {refused} were refused");
}
