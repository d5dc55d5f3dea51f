//! One case of a file of cases: a call, and what is to be decided about it.

use countersign_canon::{Document, Limits, Numbers, View, interpret, write};
use countersign_policy::{Agent, Class, Decision, Identity, PolicyId, RefusalCode, Request, Tool};
use serde_json::Value;

use super::Loaded;

/// A case, read. Members are described in `docs/policy.md`.
pub(crate) struct Case {
    pub(crate) name: String,
    agent: [String; 3],
    server: String,
    tool: String,
    class: Option<Class>,
    arguments: Option<String>,
    execution_id: Option<String>,
    workflow_id: Option<String>,
    reason: String,
    policies: Option<Vec<String>>,
    code: Option<String>,
}

const MEMBERS: [&str; 10] = [
    "name",
    "agent",
    "tool",
    "class",
    "arguments",
    "execution_id",
    "workflow_id",
    "reason",
    "policies",
    "code",
];

impl Case {
    /// Reads one line; in words, what is wrong with it.
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let members = value.as_object().ok_or("it is no object")?;
        if let Some(name) = members
            .keys()
            .find(|name| !MEMBERS.contains(&name.as_str()))
        {
            return Err(format!("there is no member `{name}`"));
        }
        let text = |name: &str| match members.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("`{name}` is no text")),
        };
        let needed = |name: &str| text(name)?.ok_or_else(|| format!("`{name}` is missing"));
        let tool = needed("tool")?;
        let (server, tool) = tool.split_once('/').ok_or("`tool` is `SERVER/TOOL`")?;
        let agent = match members.get("agent") {
            None => ["token", "countersign", "ci"].map(str::to_owned),
            Some(agent) => three(agent).ok_or("`agent` is method, issuer and subject")?,
        };
        let class = text("class")?.map(|class| class.parse().map_err(|_| "`class` is none"));
        let policies = match members.get("policies") {
            None => None,
            Some(Value::Array(ids)) => Some(
                ids.iter()
                    .map(|id| id.as_str().map(str::to_owned).ok_or("a policy is no text"))
                    .collect::<Result<_, _>>()?,
            ),
            Some(_) => return Err("`policies` is no array".to_owned()),
        };
        Ok(Self {
            name: needed("name")?,
            agent,
            server: server.to_owned(),
            tool: tool.to_owned(),
            class: class.transpose()?,
            arguments: text("arguments")?,
            execution_id: text("execution_id")?,
            workflow_id: text("workflow_id")?,
            reason: needed("reason")?,
            policies,
            code: text("code")?,
        })
    }

    /// Decides it; in words, how it came out otherwise.
    pub(crate) fn run(&self, loaded: &Loaded) -> Result<(), String> {
        let decision = self.decide(loaded)?;
        let found = decision.reason().as_str();
        let policies: Vec<&str> = decision
            .determining()
            .iter()
            .map(PolicyId::as_str)
            .collect();
        if found != self.reason {
            return Err(format!(
                "it is `{found}` by {policies:?} and not `{}`",
                self.reason
            ));
        }
        if let Some(expected) = &self.policies
            && *expected != policies
        {
            return Err(format!(
                "it is determined by {policies:?} and not {expected:?}"
            ));
        }
        let code = decision.code().map(RefusalCode::as_str);
        if code != self.code.as_deref() {
            let shown = |code: Option<&str>| code.unwrap_or("none").to_owned();
            let expected = shown(self.code.as_deref());
            return Err(format!(
                "its code is `{}` and not `{expected}`",
                shown(code)
            ));
        }
        Ok(())
    }

    fn decide(&self, loaded: &Loaded) -> Result<Decision, String> {
        let approved = loaded.tool(&self.server, &self.tool);
        let class = self.class.or(approved.map(|tool| tool.class));
        let class = class.ok_or("`class` is missing, and the tool is not approved")?;
        let view = view(&self.tool, self.arguments.as_deref())?;
        let [method, issuer, subject] = &self.agent;
        Ok(loaded.set.decide(&Request {
            agent: Agent {
                method,
                issuer,
                subject,
            },
            identity: Identity::default(),
            tool: Tool {
                server: &self.server,
                name: &self.tool,
                class,
            },
            view: &view,
            shape: approved.and_then(|tool| tool.shape.as_ref()),
            execution_id: self.execution_id.as_deref(),
            workflow_id: self.workflow_id.as_deref(),
            client: b"{}",
            continuation: None,
            revision: "2025-11-25",
        }))
    }
}

fn three(agent: &Value) -> Option<[String; 3]> {
    let [method, issuer, subject] = agent.as_array()?.as_slice() else {
        return None;
    };
    let text = |part: &Value| part.as_str().map(str::to_owned);
    Some([text(method)?, text(issuer)?, text(subject)?])
}

/// The view of a call with those arguments, spelled as they are.
fn view(tool: &str, arguments: Option<&str>) -> Result<View, String> {
    let mut action = b"{".to_vec();
    if let Some(arguments) = arguments {
        action.extend_from_slice(b"\"arguments\":");
        action.extend_from_slice(arguments.as_bytes());
        action.push(b',');
    }
    action.extend_from_slice(b"\"method\":\"tools/call\",\"name\":");
    write::string(&mut action, tool);
    action.push(b'}');
    let document = Document::read(&action, Limits::STANDARD);
    let canonical = document
        .map_err(|refusal| format!("`arguments`: {refusal}"))?
        .root()
        .canonical();
    let profile = "exact@1.0.0".parse().map_err(|_| "no profile".to_owned())?;
    let read = interpret(&profile, Numbers::AsWritten, &canonical);
    let read = read.map_err(|refusal| format!("`arguments`: {refusal}"))?;
    View::new(read.view).map_err(|error| error.to_string())
}
