//! Messages around every place where readers are known to disagree: most of
//! them calls, some of them damaged.
//!
//! Cases come in families of four: a message, another spelling of the same,
//! one that is close to it, and one of the three with damage, so that what
//! must bind equal and what must not both occur all the time.

mod damage;
mod random;
mod spell;
mod tree;

pub use random::Random;
pub use tree::Tree;

use damage::damage;
use spell::spell;

/// Names of arguments that occur often.
pub const NAMES: &[&str] = &["amount", "to", "items", "flag"];

/// Messages of one seed.
#[derive(Clone, Debug)]
pub struct Generator {
    seed: u64,
}

/// Cases that share a value: the message, its respelling, a neighbour, and one
/// with damage.
pub const FAMILY: u64 = 4;

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
        let mut base = message(&mut family);
        // Profiles that carry few numbers are to be tried as well.
        if (case / FAMILY).is_multiple_of(2) {
            tree::tame(&mut base);
        }
        let tree = match case % FAMILY {
            2 => neighbour(&mut random, base),
            _ => base,
        };
        let mut bytes = Vec::new();
        spell(&mut random, &tree, &mut bytes);
        if case % FAMILY == 3 || random.once_in(12) {
            for _ in 0..=random.below(3) {
                damage(&mut random, &mut bytes);
            }
        }
        bytes
    }
}

/// A message that differs in one place, mostly within what is called.
fn neighbour(random: &mut Random, base: Tree) -> Tree {
    if random.once_in(10) {
        return tree::near(random, &base);
    }
    let Tree::Object(mut members) = base else {
        return base;
    };
    if let Some((_, params)) = members.iter_mut().find(|(name, _)| name == "params") {
        *params = match &*params {
            Tree::Object(parts) if !parts.is_empty() => {
                let mut parts = parts.clone();
                let index = random.below(parts.len());
                if let Some((_, part)) = parts.get_mut(index) {
                    *part = tree::near(random, &part.clone());
                }
                Tree::Object(parts)
            }
            other => tree::near(random, other),
        };
    }
    Tree::Object(members)
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
    match random.below(16) {
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
        text(random.pick::<&str>(&[
            "transfer",
            "Transfer",
            "t",
            "é",
            "a/b",
            "send_email",
            "send__email",
        ])),
    )];
    if !random.once_in(6) {
        members.push(("arguments".into(), arguments(random)));
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

/// Arguments, often under names that the consumers of certification look at.
fn arguments(random: &mut Random) -> Tree {
    let Tree::Object(mut members) = tree::object(random, 4, 16) else {
        return Tree::Object(Vec::new());
    };
    for name in NAMES {
        if random.once_in(4) && members.iter().all(|(known, _)| known != name) {
            members.push(((*name).to_owned(), tree::value(random, 2, 6)));
        }
    }
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
    match random.below(24) {
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
