//! What the clients sent and what they were told: their own account, kept apart
//! from everything that the gateway writes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::plan::{Call, Round};
use crate::{Answer, Client, Revision};

/// How long a client waits.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a client was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Nothing: no whole answer came.
    Nothing,
    /// A result.
    Result,
    /// A result of a tool that failed.
    ToolError,
    /// The upstream's own error.
    Error,
    /// A question.
    Asked,
    /// A refusal with this code.
    Code(String),
}

impl Told {
    /// In a word.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Nothing => "nothing",
            Self::Result => "result",
            Self::ToolError => "tool-error",
            Self::Error => "error",
            Self::Asked => "asked",
            Self::Code(code) => code,
        }
    }
}

/// One attempt, as its client knows it.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Its number, which is its workflow too, so that entries are found by it.
    pub number: usize,
    /// Who sent it.
    pub subject: String,
    /// Under which identifier.
    pub execution_id: Option<String>,
    /// The key by which the upstream knows it.
    pub key: String,
    /// What it asks for.
    pub action: i64,
    /// The round that it answers.
    pub round: Option<Round>,
    /// Through which replica.
    pub replica: usize,
    /// Whether something was wrong with that replica at the time.
    pub stormy: bool,
    /// What it was told.
    pub told: Told,
    /// Whether it was told that another identifier is safe.
    pub safe: bool,
    /// The attempt's name, where it was told.
    pub call_id: Option<String>,
    /// How many of the first attempts were over when it was sent.
    pub after: usize,
    /// Whether it is over.
    pub over: bool,
}

impl Sent {
    /// The workflow that its entries carry.
    #[must_use]
    pub fn workflow(&self) -> String {
        workflow(self.number)
    }
}

/// The workflow of an attempt.
#[must_use]
pub fn workflow(number: usize) -> String {
    format!("attempt-{number}")
}

/// Everything that was sent.
#[derive(Clone, Debug, Default)]
pub struct Account(Arc<Mutex<Vec<Sent>>>);

impl Account {
    /// Notes that an attempt is about to be sent, and gives it its number.
    ///
    /// # Panics
    ///
    /// Never, unless another thread panicked.
    pub fn open(&self, mut sent: Sent) -> usize {
        let mut all = self.0.lock().unwrap();
        sent.number = all.len();
        let running = all.iter().position(|earlier| !earlier.over);
        sent.after = running.unwrap_or(all.len());
        all.push(sent);
        all.len() - 1
    }

    /// Notes what an attempt was told.
    ///
    /// # Panics
    ///
    /// When there is no such attempt.
    pub fn close(&self, number: usize, stormy: bool, answer: Option<&Answer>) {
        let mut all = self.0.lock().unwrap();
        let sent = &mut all[number];
        sent.stormy |= stormy;
        sent.over = true;
        if let Some(answer) = answer {
            (sent.told, sent.safe, sent.call_id) = read(answer);
        }
    }

    /// How much was sent.
    ///
    /// # Panics
    ///
    /// Never, unless another thread panicked.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Whether nothing was sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What an attempt was told.
    ///
    /// # Panics
    ///
    /// When there is no such attempt.
    #[must_use]
    pub fn told(&self, number: usize) -> Told {
        self.0.lock().unwrap()[number].told.clone()
    }

    /// Everything, in the order in which it was sent.
    ///
    /// # Panics
    ///
    /// Never, unless another thread panicked.
    #[must_use]
    pub fn all(&self) -> Vec<Sent> {
        self.0.lock().unwrap().clone()
    }
}

fn read(answer: &Answer) -> (Told, bool, Option<String>) {
    let Ok(message) = serde_json::from_slice::<Value>(answer.text().as_bytes()) else {
        return (Told::Code(format!("http-{}", answer.status)), false, None);
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let receipt = "countersign.dev/receipt";
    if let Some(result) = message.get("result") {
        let told = if result["isError"] == true {
            Told::ToolError
        } else if result["resultType"] == "input_required" {
            Told::Asked
        } else {
            Told::Result
        };
        return (told, false, text(&result["_meta"][receipt]["call_id"]));
    }
    let error = &message["error"];
    let data = &error["data"];
    match text(&data["code"]) {
        Some(code) => (
            Told::Code(code),
            data["safe_with_new_id"] == true,
            text(&data["attempt"]),
        ),
        None => (Told::Error, false, text(&data[receipt]["call_id"])),
    }
}

/// Where and as whom a call is sent.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The gateway.
    pub url: String,
    /// The token of the agent.
    pub token: String,
}

impl Caller {
    /// Sends an attempt, once; none where no whole answer comes.
    pub async fn send(&self, sent: &Sent, call: &Call) -> Option<Answer> {
        let client = Client::unconnected(&self.url, Revision::July2026, Some(&self.token));
        let message = message(sent, call);
        let sending = client.try_post_as("tools/call", "anything", message.as_bytes());
        tokio::time::timeout(PATIENCE, sending).await.ok()?
    }
}

fn message(sent: &Sent, call: &Call) -> String {
    let mut meta = serde_json::json!({
        "io.modelcontextprotocol/protocolVersion": Revision::July2026.text(),
        "io.modelcontextprotocol/clientInfo": { "name": "countersign-tests", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
        "countersign.dev/workflow_id": sent.workflow(),
    });
    if let Some(id) = &sent.execution_id {
        meta["countersign.dev/execution_id"] = id.as_str().into();
    }
    let mut params = serde_json::json!({
        "name": "anything",
        "arguments": { "key": sent.key, "action": sent.action },
        "_meta": meta,
    });
    if let Some(round) = &call.round {
        params["inputResponses"] =
            serde_json::json!({ "q": { "action": "accept", "content": { "n": round.answer } } });
        if let Some(state) = &round.state {
            params["requestState"] = state.as_str().into();
        }
    }
    let id = sent.number;
    serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        .to_string()
}
