//! All servers of a session, their tools and their state.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::config::{ServerConfig, ServerKind};
use super::outcome::{CallOutcome, read_call_result};
use super::sdk::{RequestError, SdkConnection};
use super::stdio::StdioConnection;
use crate::control::Host;
use crate::permissions::texts;

/// A tool of a server, by the name the model knows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct McpTool {
    pub(crate) server: String,
    /// The server's own name for it.
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) input_schema: Value,
    pub(crate) read_only: bool,
    pub(crate) source: &'static str,
}

impl McpTool {
    /// `mcp__<server>__<tool>`.
    pub(crate) fn qualified_name(&self) -> String {
        format!(
            "mcp__{}__{}",
            normalised(&self.server),
            normalised(&self.name)
        )
    }

    /// What a person sees: `create_refund` becomes `Create Refund`.
    pub(crate) fn display_name(&self) -> String {
        self.title.clone().unwrap_or_else(|| title_case(&self.name))
    }
}

/// `create_refund` becomes `Create Refund`.
pub(crate) fn title_case(name: &str) -> String {
    name.split(['_', '-'])
        .filter(|word| !word.is_empty())
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map_or_else(String::new, |first| {
                first.to_uppercase().chain(letters).collect()
            })
        })
        .collect::<Vec<String>>()
        .join(" ")
}

fn normalised(name: &str) -> String {
    name.chars()
        .map(|character| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
            _ => '_',
        })
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Pending,
    Connected,
    Failed,
    Disabled,
}

struct Server {
    config: ServerConfig,
    connection: SdkConnection,
    /// The connection of a server that is a process.
    process: std::cell::OnceCell<StdioConnection>,
    status: Cell<Status>,
    tools: RefCell<Vec<McpTool>>,
    /// What the server says about itself.
    information: RefCell<Value>,
}

/// Every server of the session.
pub(crate) struct McpServers {
    servers: RefCell<Vec<Rc<Server>>>,
    connecting: watch::Sender<usize>,
    /// Whether a turn has wanted to know the tools.
    tools_wanted: watch::Sender<bool>,
}

impl McpServers {
    pub(crate) fn new() -> Self {
        Self {
            servers: RefCell::default(),
            connecting: watch::channel(0).0,
            tools_wanted: watch::channel(false).0,
        }
    }

    /// Adds a server and connects to it in the background of the returned future.
    pub(crate) fn add(
        self: &Rc<Self>,
        host: Rc<Host>,
        config: ServerConfig,
    ) -> Option<impl Future<Output = ()> + use<>> {
        if self.find(&config.name).is_some() {
            return None;
        }
        let server = Rc::new(Server {
            connection: SdkConnection::new(&config.name),
            process: std::cell::OnceCell::new(),
            config,
            status: Cell::new(Status::Pending),
            tools: RefCell::default(),
            information: RefCell::default(),
        });
        self.servers.borrow_mut().push(Rc::clone(&server));
        self.connecting.send_modify(|count| *count += 1);
        let servers = Rc::clone(self);
        let tools_wanted = self.tools_wanted.subscribe();
        Some(async move {
            let connected = match &server.config.kind {
                ServerKind::Sdk => connect_sdk(&host, &server, tools_wanted).await,
                ServerKind::Stdio {
                    command,
                    arguments,
                    environment,
                } => connect_stdio(&server, command, arguments, environment).await,
                ServerKind::Unsupported => Err(()),
            };
            server.status.set(match connected {
                Ok(()) => Status::Connected,
                Err(()) => Status::Failed,
            });
            servers.connecting.send_modify(|count| *count -= 1);
        })
    }

    fn find(&self, name: &str) -> Option<Rc<Server>> {
        let servers = self.servers.borrow();
        servers
            .iter()
            .find(|server| server.config.name == name)
            .cloned()
    }

    /// Waits until no server is being connected any more, and all tools are known.
    pub(crate) async fn settled(&self) {
        self.tools_wanted.send_replace(true);
        let mut connecting = self.connecting.subscribe();
        // The sender lives as long as `self`.
        let _ = connecting.wait_for(|count| *count == 0).await;
    }

    /// The tools of all connected servers.
    pub(crate) fn tools(&self) -> Vec<McpTool> {
        self.servers
            .borrow()
            .iter()
            .filter(|server| server.status.get() == Status::Connected)
            .flat_map(|server| server.tools.borrow().clone())
            .collect()
    }

    pub(crate) fn tool(&self, qualified_name: &str) -> Option<McpTool> {
        self.tools()
            .into_iter()
            .find(|tool| tool.qualified_name() == qualified_name)
    }

    /// The `mcp_servers` of an init frame.
    pub(crate) fn statuses(&self) -> Value {
        let servers = self.servers.borrow();
        let statuses = servers.iter().map(|server| {
            let mut status = json!({
                "name": server.config.name,
                "status": match server.status.get() {
                    Status::Pending => "pending",
                    Status::Connected => "connected",
                    Status::Failed => "failed",
                    Status::Disabled => "disabled",
                },
            });
            if server.config.kind == ServerKind::Sdk {
                status["source"] = json!("sdk");
            }
            status
        });
        Value::Array(statuses.collect())
    }

    /// What `mcp_status` says (observed on CLI 2.1.316).
    pub(crate) fn details(&self) -> Value {
        let servers = self.servers.borrow();
        let statuses = self.statuses();
        let details = servers
            .iter()
            .zip(statuses.as_array().into_iter().flatten());
        let details = details.map(|(server, status)| {
            let mut detail = json!({"name": status["name"], "status": status["status"]});
            let information = server.information.borrow();
            if !information.is_null() {
                detail["serverInfo"] = information.clone();
            }
            let sdk = server.config.kind == ServerKind::Sdk;
            detail["transport"] = json!(if sdk { "sdk" } else { "stdio" });
            detail["scope"] = json!("dynamic");
            if sdk {
                detail["source"] = json!("sdk");
            }
            let tools = server.tools.borrow();
            let tools = tools.iter().map(|tool| {
                let annotations = if tool.read_only {
                    json!({"readOnly": true})
                } else {
                    json!({})
                };
                json!({"name": tool.name, "annotations": annotations})
            });
            detail["tools"] = tools.collect();
            detail
        });
        details.collect()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Switches a server on or off; the tools of one that is off do not exist.
    pub(crate) fn enable(&self, name: &str, enabled: bool) {
        if let Some(server) = self.find(name) {
            server.status.set(match (enabled, server.status.get()) {
                (false, _) => Status::Disabled,
                (true, Status::Disabled) => Status::Connected,
                (true, status) => status,
            });
        }
    }

    /// Forgets every server that is not named and returns their names.
    pub(crate) fn keep_only(&self, names: &[&str]) -> Vec<String> {
        let mut removed = Vec::new();
        self.servers.borrow_mut().retain(|server| {
            let kept = names.contains(&server.config.name.as_str());
            if !kept {
                removed.push(server.config.name.clone());
            }
            kept
        });
        removed
    }

    /// Calls a tool. Arguments are not checked against the schema (observed on CLI 2.1.316).
    pub(crate) async fn call(
        &self,
        host: &Host,
        tool: &McpTool,
        arguments: &Value,
        tool_use_id: &str,
        timeout: Option<Duration>,
    ) -> CallOutcome {
        let Some(server) = self.find(&tool.server) else {
            return CallOutcome::Error(format!("MCP server \"{}\" is gone", tool.server));
        };
        if let Some(process) = server.process.get() {
            let called = process.call(&tool.name, arguments);
            let answered = match timeout {
                Some(limit) => tokio::time::timeout(limit, called).await,
                None => Ok(called.await),
            };
            return match answered {
                Ok(Ok(result)) => read_call_result(&tool.qualified_name(), &result),
                Ok(Err(message)) => CallOutcome::Error(message),
                Err(_) => timed_out(tool, timeout),
            };
        }
        let id = server.connection.upcoming_id();
        let params = json!({
            "name": tool.name,
            "arguments": arguments,
            "_meta": {"claudecode/toolUseId": tool_use_id, "progressToken": id},
        });
        let mut withdrawal = Withdrawal {
            server: Rc::clone(&server),
            host,
            request: Some(id),
        };
        let request = server.connection.request(host, "tools/call", Some(params));
        let answer = match timeout {
            Some(limit) => tokio::time::timeout(limit, request).await,
            None => Ok(request.await),
        };
        withdrawal.request = None;
        match answer {
            Ok(Ok(result)) => read_call_result(&tool.qualified_name(), &result),
            Ok(Err(RequestError::InputClosed)) => {
                CallOutcome::Error(texts::INTERRUPTED_CALL.to_owned())
            }
            Ok(Err(RequestError::Refused(message))) => CallOutcome::Error(message),
            Err(_) => {
                cancel(&server, host, id, "SdkError: Request timed out");
                timed_out(tool, timeout)
            }
        }
    }
}

/// Tells the server that nobody waits for a call any more, when the call's future is dropped.
struct Withdrawal<'a> {
    server: Rc<Server>,
    host: &'a Host,
    request: Option<u64>,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.request {
            cancel(&self.server, self.host, id, "AbortError: remote-cancel");
        }
    }
}

fn cancel(server: &Server, host: &Host, id: u64, reason: &str) {
    host.send_and_forget(json!({
        "subtype": "mcp_message",
        "server_name": server.config.name,
        "message": {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": reason},
        },
    }));
}

fn timed_out(tool: &McpTool, timeout: Option<Duration>) -> CallOutcome {
    let seconds = timeout.map_or(0, |limit| limit.as_secs());
    CallOutcome::Error(format!(
        "MCP server \"{}\" tool \"{}\" timed out after {seconds}s",
        tool.server, tool.name
    ))
}

async fn connect_stdio(
    server: &Server,
    command: &str,
    arguments: &[String],
    environment: &HashMap<String, String>,
) -> Result<(), ()> {
    let opened = StdioConnection::open(command, arguments, environment).await;
    let (connection, tools) = opened.map_err(|error| {
        eprintln!(
            "failed to connect to MCP server {}: {error}",
            server.config.name
        );
    })?;
    *server.information.borrow_mut() = connection.information();
    *server.tools.borrow_mut() = read_tools(&server.config.name, "stdio", &tools);
    // A server is connected once.
    let _ = server.process.set(connection);
    Ok(())
}

/// How long the program waits before it asks again for a list of tools (observed on CLI 2.1.316).
const LIST_RETRIES: [Duration; 3] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_millis(1000),
];

/// The handshake comes at once, the question for tools before the first turn (observed on CLI 2.1.316).
async fn connect_sdk(
    host: &Host,
    server: &Server,
    mut tools_wanted: watch::Receiver<bool>,
) -> Result<(), ()> {
    let connection = &server.connection;
    // A refused handshake is tried once more (observed on CLI 2.1.316).
    let mut shaken = connection
        .request(host, "initialize", Some(handshake()))
        .await;
    if let Err(RequestError::Refused(_)) = shaken {
        connection.restart();
        shaken = connection
            .request(host, "initialize", Some(handshake()))
            .await;
    }
    let shaken = shaken.map_err(|_| ())?;
    *server.information.borrow_mut() = shaken["serverInfo"].clone();
    connection.notify(host, "notifications/initialized");
    // The sender lives as long as the servers.
    let _ = tools_wanted.wait_for(|wanted| *wanted).await;
    let mut listed = connection.request(host, "tools/list", None).await;
    for pause in LIST_RETRIES {
        if !matches!(listed, Err(RequestError::Refused(_))) {
            break;
        }
        tokio::time::sleep(pause).await;
        listed = connection.request(host, "tools/list", None).await;
    }
    if let Ok(result) = listed {
        *server.tools.borrow_mut() = read_tools(&server.config.name, "sdk", &result["tools"]);
    }
    Ok(())
}

fn handshake() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {
            "name": "claude-code",
            "title": "Claude Code",
            "description": "fake-claude, a stand-in for tests",
            "websiteUrl": "https://claude.com/claude-code",
            "version": crate::IMITATED_VERSION,
        },
    })
}

fn read_tools(server: &str, source: &'static str, tools: &Value) -> Vec<McpTool> {
    let tools = tools.as_array().into_iter().flatten();
    tools
        .filter_map(|tool| {
            Some(McpTool {
                server: server.to_owned(),
                name: tool["name"].as_str()?.to_owned(),
                title: ["/title", "/annotations/title"]
                    .iter()
                    .find_map(|path| tool.pointer(path)?.as_str())
                    .map(str::to_owned),
                description: tool["description"].as_str().unwrap_or_default().to_owned(),
                input_schema: tool["inputSchema"].clone(),
                read_only: tool["annotations"]["readOnlyHint"] == true,
                source,
            })
        })
        .collect()
}
