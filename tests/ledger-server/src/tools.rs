//! The tools: `transfer`, `transfer_slowly`, `balance` and `echo`.
//!
//! `transfer_slowly` has its effect at once and answers late, so that a test
//! can cut the answer off after the effect happened.

use std::{sync::Arc, time::Duration};

use rmcp::{
    ErrorData, ServerHandler,
    handler::server::wrapper::Parameters,
    model::{
        CallToolResult, ContentBlock, Implementation, JsonObject, ServerCapabilities, ServerConfig,
    },
    schemars, tool, tool_handler, tool_router,
};
use serde_json::{Value, json};

use crate::journal::{Effect, Journal};

/// The longest that a slow transfer waits before it answers, in milliseconds.
const LONGEST_DELAY_MS: u64 = 120_000;

/// The server; clones share the journal.
#[derive(Debug, Clone)]
pub(crate) struct LedgerServer {
    journal: Arc<Journal>,
}

/// What `transfer` takes.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Transfer {
    /// The account that pays.
    from: String,
    /// The account that is paid.
    to: String,
    /// How much is paid.
    #[schemars(with = "f64")]
    amount: Value,
}

/// What `transfer_slowly` takes.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct SlowTransfer {
    /// The account that pays.
    from: String,
    /// The account that is paid.
    to: String,
    /// How much is paid.
    #[schemars(with = "f64")]
    amount: Value,
    /// How long the answer waits after the effect, in milliseconds; at most
    /// two minutes.
    delay_ms: u64,
}

/// What `balance` takes.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Balance {
    /// The account to sum up.
    account: String,
}

impl LedgerServer {
    /// A server that writes to `journal`.
    pub(crate) fn new(journal: Arc<Journal>) -> Self {
        Self { journal }
    }

    /// Moves the money, and says so in text and as structured content.
    fn pay(&self, tool: &str, transfer: Transfer) -> Result<CallToolResult, ErrorData> {
        let Transfer { from, to, amount } = transfer;
        let said = format!("paid {amount} from {from} to {to}");
        let effect = Effect {
            tool: tool.to_owned(),
            from,
            to,
            amount,
        };
        let number = self.journal.append(&effect).map_err(unwritable)?;
        Ok(answer(
            said,
            json!({ "effect": number, "amount": effect.amount }),
        ))
    }
}

#[tool_router]
impl LedgerServer {
    #[tool(
        description = "Pays an amount from one account to another, at once.",
        annotations(
            title = "Transfer",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false,
            open_world_hint = false
        )
    )]
    async fn transfer(
        &self,
        Parameters(transfer): Parameters<Transfer>,
    ) -> Result<CallToolResult, ErrorData> {
        self.pay("transfer", transfer)
    }

    #[tool(
        description = "Pays at once like transfer, and answers after a delay.",
        annotations(
            title = "Slow transfer",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false,
            open_world_hint = false
        )
    )]
    async fn transfer_slowly(
        &self,
        Parameters(slow): Parameters<SlowTransfer>,
    ) -> Result<CallToolResult, ErrorData> {
        let SlowTransfer {
            from,
            to,
            amount,
            delay_ms,
        } = slow;
        let paid = self.pay("transfer_slowly", Transfer { from, to, amount })?;
        tokio::time::sleep(Duration::from_millis(delay_ms.min(LONGEST_DELAY_MS))).await;
        Ok(paid)
    }

    #[tool(
        description = "Sums up what an account was paid, less what it paid.",
        annotations(title = "Balance", read_only_hint = true, open_world_hint = false)
    )]
    async fn balance(
        &self,
        Parameters(Balance { account }): Parameters<Balance>,
    ) -> Result<CallToolResult, ErrorData> {
        let effects = self.journal.effects().map_err(unwritable)?;
        let balance: f64 = effects
            .iter()
            .map(|effect| {
                let amount = effect.amount.as_f64().unwrap_or(0.0);
                let paid = if effect.to == account { amount } else { 0.0 };
                let pays = if effect.from == account { amount } else { 0.0 };
                paid - pays
            })
            // Not `sum`, which is -0 of nothing.
            .fold(0.0, |all, each| all + each);
        let said = format!("{account} has {balance}");
        Ok(answer(
            said,
            json!({ "account": account, "balance": balance }),
        ))
    }

    #[tool(
        description = "Answers its own arguments, as structured content and as text.",
        input_schema = anything(),
        annotations(title = "Echo", read_only_hint = true, open_world_hint = false)
    )]
    async fn echo(
        &self,
        Parameters(arguments): Parameters<JsonObject>,
    ) -> Result<CallToolResult, ErrorData> {
        let arguments = Value::Object(arguments);
        Ok(answer(arguments.to_string(), arguments))
    }
}

#[tool_handler]
impl ServerHandler for LedgerServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("ledger", env!("CARGO_PKG_VERSION")))
            .with_instructions("Pays between accounts; every payment is one line of the journal.")
    }
}

/// A result that says the same in words and in structure.
fn answer(said: String, structure: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(said)]);
    result.structured_content = Some(structure);
    result
}

/// The schema of a tool that takes any object.
fn anything() -> Arc<JsonObject> {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), Value::from("object"));
    Arc::new(schema)
}

#[expect(clippy::needless_pass_by_value, reason = "called by map_err")]
fn unwritable(error: std::io::Error) -> ErrorData {
    ErrorData::internal_error(format!("the journal can not be used: {error}"), None)
}
