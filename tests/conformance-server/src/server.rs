//! The server as the SDK sees it; what each part offers stands in its own room.

#![expect(
    deprecated,
    reason = "older revisions have methods that the newest has not, and the suite asks for both"
)]

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
        SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams,
    },
    service::{RequestContext, SubscriptionContext},
};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::{prompts, resources, tools};

/// What the lists of this server did.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Changed {
    Tools,
    Prompts,
}

/// The server; clones share what changed.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    changed: broadcast::Sender<Changed>,
    subscribed: Arc<Mutex<Vec<String>>>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            changed: broadcast::channel(16).0,
            subscribed: Arc::default(),
        }
    }
}

impl Server {
    /// Tells whoever listens that a list has changed.
    pub(crate) fn change(&self, changed: Changed) {
        // Nobody may be listening.
        let _ = self.changed.send(changed);
    }
}

/// Any value that the SDK models, from JSON.
pub(crate) fn made<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities: ServerCapabilities = made(json!({
            "tools": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true },
            "prompts": { "listChanged": true },
            "completions": {},
            "logging": {},
        }))
        .unwrap_or_default();
        ServerConfig::new(capabilities).with_server_info(Implementation::new(
            "conformance",
            env!("CARGO_PKG_VERSION"),
        ))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        made(
            json!({ "resultType": "complete", "tools": tools::all(), "ttlMs": 0, "cacheScope": "private" }),
        )
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tool = tools::all().into_iter().find(|tool| tool["name"] == name)?;
        made(tool).ok()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tools::call(self, request, &context).await
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        made(
            json!({ "resultType": "complete", "resources": resources::all(), "ttlMs": 0, "cacheScope": "private" }),
        )
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        made(json!({
            "resultType": "complete",
            "resourceTemplates": resources::templates(),
            "ttlMs": 0,
            "cacheScope": "private",
        }))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&request.uri)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut subscribed = self
            .subscribed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        subscribed.push(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut subscribed = self
            .subscribed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        subscribed.retain(|uri| *uri != request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changed = self.changed.subscribe();
        loop {
            let what = tokio::select! {
                () = context.cancelled() => return Ok(()),
                what = changed.recv() => what,
            };
            let accepted = context.accepted();
            // A subscriber that has gone is noticed by the cancel.
            let _ = match what {
                Ok(Changed::Tools) if accepted.tools_list_changed == Some(true) => {
                    context.sink().notify_tool_list_changed().await
                }
                Ok(Changed::Prompts) if accepted.prompts_list_changed == Some(true) => {
                    context.sink().notify_prompt_list_changed().await
                }
                Ok(_) => Ok(()),
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    Ok(())
                }
            };
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        made(
            json!({ "resultType": "complete", "prompts": prompts::all(), "ttlMs": 0, "cacheScope": "private" }),
        )
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let begun = request.argument.value;
        let values: Vec<&str> = ["paris", "park", "party"]
            .into_iter()
            .filter(|value| value.starts_with(begun.as_str()))
            .collect();
        made(json!({
            "resultType": "complete",
            "completion": { "values": values, "total": values.len(), "hasMore": false },
        }))
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }
}
