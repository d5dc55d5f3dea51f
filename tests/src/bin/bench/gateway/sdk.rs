//! A real server, on the official SDK as its defaults have it: it reads a call,
//! checks it, and answers at once.

use std::sync::Arc;

use axum::serve::ListenerExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::net::TcpListener;

use super::rules::{self, TOOLS};

#[derive(Clone)]
struct Server {
    tools: Arc<[Tool]>,
}

/// Serves until it is killed.
pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = Server {
            tools: TOOLS.map(tool).into(),
        };
        let service: StreamableHttpService<Server, LocalSessionManager> =
            StreamableHttpService::new(
                move || Ok(server.clone()),
                Arc::default(),
                StreamableHttpServerConfig::default(),
            );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening on http://{}", listener.local_addr().unwrap());
        // An event stream leaves in pieces, each of which would wait for the one before.
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let router = axum::Router::new().nest_service("/mcp", service);
        axum::serve(listener, router).await.unwrap();
    });
}

fn tool(name: &'static str) -> Tool {
    let schema: JsonObject = serde_json::from_value(rules::schema()).unwrap();
    Tool::new(name, "A tool of the benchmark.", schema)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        if !arguments.contains_key("to") {
            return Err(ErrorData::invalid_params("`to` is missing", None));
        }
        Ok(CallToolResult::success(vec![ContentBlock::text("done")]).into())
    }
}
