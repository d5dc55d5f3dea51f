//! Messages meant to exhaust whoever reads them, and those at a profile's own
//! limits and one beyond.

use countersign_canon::Limits;

/// A message, and what it is, for the report.
pub(crate) struct Hostile {
    pub(crate) what: &'static str,
    pub(crate) message: Vec<u8>,
}

fn hostile(what: &'static str, message: Vec<u8>) -> Hostile {
    Hostile { what, message }
}

/// A call whose arguments are one member, `v`.
fn call(value: &[u8]) -> Vec<u8> {
    const HEAD: &[u8] =
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"v":"#;
    [HEAD, value, b"}}}"].concat()
}

/// Containers around `v` in a call: the message, its `params`, `arguments`.
const AROUND: usize = 3;
/// Values of a call beside those in `v`.
const BESIDE: usize = 7;

/// Messages at the limits that a profile states, and just beyond them.
pub(crate) fn at_limits(limits: Limits) -> Vec<Hostile> {
    let size = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
    let nested = |depth: usize| {
        let deep = depth.saturating_sub(AROUND);
        call(&[vec![b'['; deep], vec![b']'; deep]].concat())
    };
    let digits = |count: usize| call(&vec![b'7'; count]);
    let values = |count: usize| {
        let items = count.saturating_sub(BESIDE + 1);
        let mut array = b"[".to_vec();
        for index in 0..items {
            array.extend_from_slice(if index == 0 { b"1" } else { b",1" });
        }
        array.push(b']');
        call(&array)
    };
    let long = |bytes: usize| {
        let mut message = call(b"1");
        message.resize(bytes.max(message.len()), b' ');
        message
    };
    vec![
        hostile("as deep as it reads", nested(size(limits.depth))),
        hostile("one deeper", nested(size(limits.depth) + 1)),
        hostile(
            "a number as long as it reads",
            digits(size(limits.number_bytes)),
        ),
        hostile("one digit longer", digits(size(limits.number_bytes) + 1)),
        hostile("as many values as it reads", values(size(limits.nodes))),
        hostile("one value more", values(size(limits.nodes) + 1)),
        hostile("as long as it reads", long(size(limits.message_bytes))),
        hostile("one byte longer", long(size(limits.message_bytes) + 1)),
    ]
}

/// A number that hardly a profile carries which has a rule of its own for them.
const UNLIKELY: &[u8] = b"1e99999999999999999999";

/// How many messages [`filling`] gives.
pub(crate) const FILLING: usize = 11;

/// Messages that fill what a profile reads with what costs a reader the most
/// memory for each byte. Each as it is, and with something at its end that may
/// be refused, or must: whoever reads has all of it behind him then, and has to
/// say where.
pub(crate) fn filling(limits: Limits) -> impl Iterator<Item = Hostile> {
    let size = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
    // Something is left to what stands around.
    let bytes = size(limits.message_bytes).saturating_sub(1_024);
    let values = size(limits.nodes).saturating_sub(64);
    // As many pieces as have room, each of so many values.
    let filled = |piece: &str, each: usize| piece.repeat((bytes / piece.len()).min(values / each));
    let [one, other] = ["b".repeat(50), "a".repeat(50)];
    // Escaped, so that they are decoded, and against their order.
    let names = filled(&format!("{{\"\\n{one}\":0,\"\\n{other}\":0}},"), 3);
    let short = filled("{\"b\":0,\"a\":0},", 3);
    let text = format!("\"{}\",", "\\u00e9".repeat(bytes / 6));
    let beside = [
        (&b"0"[..], "as much client context as it reads"),
        (
            UNLIKELY,
            "as much client context as it reads, and a number to refuse",
        ),
    ]
    .map(|(number, what)| hostile(what, with_context(&names, number)));
    let fills = [text, names, short].into_iter();
    fills
        .flat_map(|fill| {
            ENDS.map(|(end, what)| {
                hostile(what, call(&[b"[", fill.as_bytes(), end, b"]"].concat()))
            })
        })
        .chain(beside)
}

/// What a message that is full ends with.
const ENDS: [(&[u8], &str); 3] = [
    (b"0", "as much as it reads"),
    (UNLIKELY, "as much as it reads, and a number to refuse"),
    (
        br#"{"a":0,"a":0}"#,
        "as much as it reads, and a duplicate to refuse",
    ),
];

/// A call with a list in its client context, and a number in its action.
fn with_context(list: &str, number: &[u8]) -> Vec<u8> {
    const HEAD: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/clientInfo":{"l":["#;
    const TAIL: &[u8] = br#"0]}},"arguments":{"v":"#;
    [HEAD, list.as_bytes(), TAIL, number, b"}}}"].concat()
}

/// Messages that a careless reader pays dearly for.
pub(crate) fn costly() -> Vec<Hostile> {
    let members = |count: usize, last: &str| {
        let mut object = String::from("{");
        for index in 0..count {
            object.push_str(&format!("\"{:06}\":0,", count - index));
        }
        object.push_str(&format!("\"{last}\":0}}"));
        call(object.as_bytes())
    };
    let text = |piece: &str, count: usize| call(format!("\"{}\"", piece.repeat(count)).as_bytes());
    vec![
        hostile("100,000 brackets that never close", vec![b'['; 100_000]),
        hostile(
            "100,000 objects that never close",
            br#"{"a":"#.repeat(100_000),
        ),
        hostile("a million digits", call(&vec![b'1'; 1_000_000])),
        hostile(
            "a number with an endless exponent",
            call(&[b"1e".to_vec(), vec![b'9'; 1_000]].concat()),
        ),
        hostile("60,000 members against their order", members(60_000, "z")),
        hostile(
            "60,000 members and a duplicate at the end",
            members(60_000, "000001"),
        ),
        hostile("a megabyte of escapes", text("\\u0000", 170_000)),
        hostile(
            "a megabyte of surrogate pairs",
            text("\\ud83d\\ude00", 87_000),
        ),
        hostile(
            "a surrogate that stays alone at the end of a megabyte",
            text(&format!("{}\\ud800", "a".repeat(1_000_000)), 1),
        ),
        hostile(
            "a name of a megabyte",
            call(format!("{{\"{}\":1}}", "n".repeat(1_000_000)).as_bytes()),
        ),
        hostile(
            "100,000 empty objects",
            call(format!("[{}{{}}]", "{},".repeat(99_999)).as_bytes()),
        ),
        hostile("white space and nothing else", vec![b' '; 1_000_000]),
        hostile("zeros and nothing else", vec![0; 100_000]),
    ]
}
