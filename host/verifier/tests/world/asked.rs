//! One call, as its sender and the operator see it.

/// One call, as its sender and the operator see it.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub id: Option<&'a str>,
    pub tool: &'a str,
    pub class: &'a str,
    pub amount: &'a str,
    pub state: Option<&'a str>,
}

impl<'a> Asked<'a> {
    pub fn transfer(id: &'a str, amount: &'a str) -> Self {
        Self {
            id: Some(id),
            tool: "transfér",
            class: "side-effecting",
            amount,
            state: None,
        }
    }

    /// The request, byte for byte.
    pub fn message(&self) -> Vec<u8> {
        let id = self
            .id
            .map(|id| format!(r#""countersign.dev/execution_id":"{id}","#))
            .unwrap_or_default();
        let round = self
            .state
            .map(|state| format!(r#","inputResponses":{{"a":"ja"}},"requestState":"{state}""#));
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{}","arguments":{{"amount":{},"to":"zoë"}},"_meta":{{{id}"countersign.dev/workflow_id":"w-1","io.modelcontextprotocol/clientInfo":{{"name":"x"}}}}{}}}}}"#,
            self.tool,
            self.amount,
            round.unwrap_or_default(),
        )
        .into_bytes()
    }
}
