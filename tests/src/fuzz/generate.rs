//! Messages: most of them calls, about half of them damaged afterwards.
//!
//! Cases come in families of four: a message, another spelling of the same,
//! one that is close to it, and one of the three with damage, so that what
//! must bind equal and what must not both occur all the time.

use super::Random;
use super::spell::spell;
use super::tree::{self, Tree};

/// Messages of one seed.
#[derive(Clone, Debug)]
pub struct Generator {
    seed: u64,
}

/// Cases that share a value.
const FAMILY: u64 = 4;

impl Generator {
    /// The messages of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The message of a case, the same each time.
    #[must_use]
    pub fn message(&self, case: u64) -> Vec<u8> {
        let mut family = Random::new(self.seed, case / FAMILY);
        let mut random = Random::new(!self.seed, case);
        let base = message(&mut family);
        let tree = match case % FAMILY {
            2 => tree::near(&mut random, &base),
            _ => base,
        };
        let mut bytes = Vec::new();
        spell(&mut random, &tree, &mut bytes);
        if case % FAMILY == 3 || random.once_in(5) {
            for _ in 0..=random.below(3) {
                damage(&mut random, &mut bytes);
            }
        }
        bytes
    }
}

fn text(text: &str) -> Tree {
    Tree::Text(text.into())
}

fn message(random: &mut Random) -> Tree {
    let id = match random.below(5) {
        0 => text("id"),
        1 => Tree::Text(tree::text(random)),
        2 => Tree::Number("9007199254740991".into()),
        _ => Tree::Number("1".into()),
    };
    let mut members = vec![("jsonrpc".to_owned(), text("2.0"))];
    match random.below(10) {
        0 => {
            members.push(("id".into(), id));
            let which = *random.pick(&["result", "error"]);
            let answer = match which {
                "error" => tree::object(random, 3, 8),
                _ => tree::value(random, 3, 8),
            };
            members.push((which.into(), answer));
        }
        1 => {
            members.push((
                "method".into(),
                Tree::Text(format!("notifications/{}", tree::text(random))),
            ));
            members.push(("params".into(), tree::object(random, 3, 8)));
        }
        2 => {
            members.push(("id".into(), id));
            let method = *random.pick(&["tools/list", "initialize", "ping", "Tools/call"]);
            members.push(("method".into(), text(method)));
            if random.once_in(2) {
                members.push(("params".into(), tree::object(random, 3, 8)));
            }
        }
        _ => {
            members.push(("id".into(), id));
            members.push(("method".into(), text("tools/call")));
            members.push(("params".into(), params(random)));
        }
    }
    oddity(random, &mut members, &["Id", "Params", "extra", "result"]);
    Tree::Object(members)
}

fn params(random: &mut Random) -> Tree {
    let mut members = vec![(
        "name".to_owned(),
        text(random.pick::<&str>(&["transfer", "t", "é", "a/b"])),
    )];
    if !random.once_in(6) {
        members.push(("arguments".into(), tree::object(random, 4, 16)));
    }
    if random.once_in(8) {
        members.push(("task".into(), tree::object(random, 1, 4)));
    }
    let execution = correlation(random);
    if random.once_in(4) {
        let mut cmcp = Vec::new();
        if random.once_in(2) {
            cmcp.push(("execution_id".to_owned(), execution.clone()));
        }
        if random.once_in(3) {
            cmcp.push(("workflow_id".to_owned(), correlation(random)));
        }
        oddity(random, &mut cmcp, &["data_class", "Execution_id"]);
        members.push(("_cmcp".into(), Tree::Object(cmcp)));
    }
    if random.once_in(3) {
        members.push(("_meta".into(), meta(random, &execution)));
    }
    if random.once_in(8) {
        members.push(("inputResponses".into(), tree::object(random, 2, 6)));
    }
    if random.once_in(8) {
        members.push(("requestState".into(), Tree::Text(tree::text(random))));
    }
    oddity(
        random,
        &mut members,
        &["Name", "argument", "cursor", "_Meta"],
    );
    Tree::Object(members)
}

fn meta(random: &mut Random, execution: &Tree) -> Tree {
    let mut members: Vec<(String, Tree)> = Vec::new();
    for _ in 0..random.below(4) {
        let name = *random.pick(&[
            "countersign.dev/execution_id",
            "countersign.dev/workflow_id",
            "io.modelcontextprotocol/protocolVersion",
            "io.modelcontextprotocol/clientInfo",
            "io.modelcontextprotocol/clientCapabilities",
            "io.modelcontextprotocol/logLevel",
            "io.modelcontextprotocol/other",
            "progressToken",
            "traceparent",
            "tracestate",
            "baggage",
            "vendor/x",
        ]);
        let value = match name {
            "countersign.dev/execution_id" => execution.clone(),
            "countersign.dev/workflow_id" => correlation(random),
            _ => tree::value(random, 2, 4),
        };
        if members.iter().all(|(known, _)| known != name) {
            members.push((name.into(), value));
        }
    }
    oddity(
        random,
        &mut members,
        &[
            "countersign.dev/call_id",
            "countersign.dev/",
            "Countersign.dev/x",
        ],
    );
    Tree::Object(members)
}

fn correlation(random: &mut Random) -> Tree {
    match random.below(30) {
        0 => Tree::Null,
        1 => text(""),
        2 => text("a b"),
        3 => Tree::Text("x".repeat(199 + random.below(3))),
        4 => text("é"),
        n => Tree::Text(format!("e-{}", n % 7)),
    }
}

/// Now and then a member that should not be there.
fn oddity(random: &mut Random, members: &mut Vec<(String, Tree)>, names: &[&str]) {
    if random.once_in(60) {
        members.push(((*random.pick(names)).to_owned(), tree::value(random, 1, 3)));
    }
}

const INSERTIONS: &[&[u8]] = &[
    b",",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"0",
    b"-",
    b".",
    b"e",
    b"+",
    b" ",
    b"\x00",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x80",
    b"NaN",
    b"Infinity",
    b"//",
    b"/*",
    b"'",
    b"\\u",
    b"\\ud800",
    b"\\udc00",
    b"\\ud83d\\ude00",
    b"\\x41",
    b"\x7f",
    b"\xc2\xa0",
    b"\xe2\x80\xa8",
    b"\x0b",
    b"\x0c",
    b"null",
    b"true",
    b"tru",
    b"01",
    b"1.",
    b".5",
    b"1e",
    b"-0",
    b"\"a\":1,",
    b"\"a\":1,\"\\u0061\":2,",
    b"\"name\":\"u\",",
    b"\"id\":1,",
];

/// Breaks a message, or does not: some damage changes nothing that counts.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len() + 1);
    match random.below(10) {
        0 => bytes.truncate(at),
        1 if at < bytes.len() => bytes[at] = random.byte(),
        2 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        3 if at < bytes.len() => {
            bytes.remove(at);
        }
        4 => {
            // A piece of the message once more, somewhere else.
            let end = (at + random.below(24)).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            insert(bytes, random, &piece);
        }
        5 => {
            let end = (at + random.below(12)).min(bytes.len());
            bytes.drain(at..end);
        }
        6 => {
            // Nested as deeply as is allowed, and a little deeper.
            let depth = 58 + random.below(10);
            let nested = [vec![b'['; depth], vec![b']'; depth]].concat();
            replace_value(random, bytes, &nested);
        }
        7 => {
            let digits = vec![b'7'; 1_020 + random.below(10)];
            replace_value(random, bytes, &digits);
        }
        _ => {
            let piece = *random.pick(INSERTIONS);
            insert(bytes, random, piece);
        }
    }
}

fn insert(bytes: &mut Vec<u8>, random: &mut Random, piece: &[u8]) {
    let at = random.below(bytes.len() + 1);
    bytes.splice(at..at, piece.iter().copied());
}

/// Puts a value where a short literal was.
fn replace_value(random: &mut Random, bytes: &mut Vec<u8>, value: &[u8]) {
    let literals: [&[u8]; 4] = [b"null", b"true", b"false", b"{}"];
    let literal = *random.pick(&literals);
    let found = bytes
        .windows(literal.len())
        .position(|window| window == literal);
    if let Some(at) = found {
        bytes.splice(at..at + literal.len(), value.iter().copied());
    }
}
