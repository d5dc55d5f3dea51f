//! Calls for the tests: an action's JSON text, and the facts beside it.
#![allow(dead_code, missing_docs, unreachable_pub)]

use countersign_canon::document::{Item, Kind};
use countersign_canon::{Document, Limits, Node, Value, View};
use countersign_policy::{Agent, Bundle, Class, Decision, Identity, PolicySet, Request, Tool};

/// A policy set of one file.
pub fn policies(text: &str) -> PolicySet {
    PolicySet::load(bundle(text)).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A bundle of one file.
pub fn bundle(text: &str) -> Bundle {
    Bundle::of([("test.cedar".to_owned(), text.to_owned())]).unwrap()
}

/// The view of a JSON text.
pub fn view(json: &str) -> View {
    let canonical = Document::read(json.as_bytes(), Limits::STANDARD)
        .unwrap_or_else(|refusal| panic!("{refusal}: {json}"))
        .root()
        .canonical();
    let document = Document::read(&canonical, Limits::STANDARD).unwrap();
    let mut nodes = Vec::new();
    let mut open = vec![document.root()];
    while let Some(item) = open.pop() {
        nodes.push(Node {
            name: item.name().map(str::to_owned),
            value: value(item),
        });
        let children: Vec<Item<'_>> = item.children().collect();
        open.extend(children.into_iter().rev());
    }
    View::new(nodes).unwrap()
}

fn value(item: Item<'_>) -> Value {
    let count = u32::try_from(item.count()).unwrap();
    match item.kind() {
        Kind::Null => Value::Null,
        Kind::True => Value::Boolean(true),
        Kind::False => Value::Boolean(false),
        Kind::Number => item.integer().map_or_else(
            || Value::Number(item.lexeme().unwrap().to_owned()),
            Value::Integer,
        ),
        Kind::String => Value::Text(item.text().unwrap().into_owned()),
        Kind::Array => Value::Array(count),
        Kind::Object => Value::Object(count),
    }
}

/// One call.
#[derive(Clone, Debug)]
pub struct Call {
    pub agent: [String; 3],
    pub user: Option<String>,
    pub server: String,
    pub tool: String,
    pub class: Class,
    pub view: View,
    pub execution_id: Option<String>,
    pub workflow_id: Option<String>,
    pub client: String,
    pub continuation: Option<String>,
    pub revision: String,
}

impl Call {
    /// A call of `ledger/transfer`, side-effecting, by an agent of the token
    /// file, with an `execution_id`.
    pub fn of(arguments: &str) -> Self {
        Self::action(&format!(
            r#"{{"method":"tools/call","name":"transfer","arguments":{arguments}}}"#
        ))
    }

    /// The same, of a whole action.
    pub fn action(action: &str) -> Self {
        Self {
            agent: ["token", "countersign", "ci"].map(str::to_owned),
            user: None,
            server: "ledger".to_owned(),
            tool: "transfer".to_owned(),
            class: Class::SideEffecting,
            view: view(action),
            execution_id: Some("e-1".to_owned()),
            workflow_id: None,
            client: "{}".to_owned(),
            continuation: None,
            revision: "2025-11-25".to_owned(),
        }
    }

    pub fn request(&self) -> Request<'_> {
        let [method, issuer, subject] = &self.agent;
        Request {
            agent: Agent {
                method,
                issuer,
                subject,
            },
            identity: Identity {
                represented_user: self.user.as_deref(),
                ..Identity::default()
            },
            tool: Tool {
                server: &self.server,
                name: &self.tool,
                class: self.class,
            },
            view: &self.view,
            shape: None,
            execution_id: self.execution_id.as_deref(),
            workflow_id: self.workflow_id.as_deref(),
            client: self.client.as_bytes(),
            continuation: self.continuation.as_deref().map(str::as_bytes),
            revision: &self.revision,
        }
    }

    pub fn decide(&self, policies: &PolicySet) -> Decision {
        policies.decide(&self.request())
    }
}

/// Whether a condition holds for a call: it is the `when` of the one permit.
pub fn holds(condition: &str, call: &Call) -> bool {
    let policies = policies(&format!(
        "permit (principal, action, resource) when {{ {condition} }};"
    ));
    let decision = call.decide(&policies);
    assert!(
        ["permitted", "no-permit"].contains(&decision.reason().as_str()),
        "{condition}: {decision:?}"
    );
    decision.allow()
}

/// A small generator, so that a failure names a seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound).unwrap()).unwrap()
    }

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    /// A JSON text with everything that readers disagree about.
    pub fn json(&mut self, depth: usize) -> String {
        let leaves = [
            "null",
            "true",
            "false",
            "0",
            "-0",
            "1",
            "1.0",
            "1e400",
            "-1e400",
            "5000.0",
            "9223372036854775807",
            "9223372036854775808",
            "0.00001",
            "\"\"",
            "\"5000\"",
            "\"\\u0000\"",
            "\"__extn\"",
            "\"é🙂\"",
        ];
        if depth == 0 {
            return self.pick(&leaves).to_owned();
        }
        let names = [
            "amount", "__entity", "__extn", "fn", "arg", "type", "id", "", "~1/", "0", "é",
        ];
        match self.below(4) {
            0 => {
                let length = self.below(4);
                let items: Vec<String> = (0..length).map(|_| self.json(depth - 1)).collect();
                format!("[{}]", items.join(","))
            }
            1 | 2 => {
                let first = self.below(names.len());
                let length = self.below(5);
                let members: Vec<String> = (0..length)
                    .map(|offset| {
                        let name = names[(first + offset) % names.len()];
                        format!("\"{name}\":{}", self.json(depth - 1))
                    })
                    .collect();
                format!("{{{}}}", members.join(","))
            }
            _ => self.pick(&leaves).to_owned(),
        }
    }
}
