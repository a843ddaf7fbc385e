//! The control routes, for those who run the server as a program.

use hyper::{Method, StatusCode, Uri};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::{served_request::ReceivedRequest, state::ServerState};
use crate::script::Script;

const PREFIX: &str = "/__mock/";

/// What a control route answers.
#[derive(Debug)]
pub(crate) struct ControlReply {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

impl ControlReply {
    fn ok(body: Value) -> Self {
        Self {
            status: StatusCode::OK,
            body,
        }
    }

    fn problem(status: StatusCode, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self {
            status,
            body: json!({"error": message}),
        }
    }
}

pub(crate) fn is_control_route(uri: &Uri) -> bool {
    uri.path().starts_with(PREFIX)
}

/// Answers a request to a control route. A route without a session means the root.
pub(crate) fn control(state: &ServerState, request: &ReceivedRequest) -> ControlReply {
    let path = request.uri.path().strip_prefix(PREFIX).unwrap_or_default();
    let (what, session) = path.split_once('/').unwrap_or((path, ""));
    let session = percent_decode_str(session).decode_utf8_lossy();
    match (&request.method, what) {
        (&Method::GET, "journal") if path == what => ControlReply::ok(json!(state.whole_journal())),
        (&Method::GET, "journal") => ControlReply::ok(json!(state.journal(&session))),
        (&Method::GET, "verification") => ControlReply::ok(json!({
            "problems": state.verify(&session).err().map(|error| error.problems).unwrap_or_default(),
        })),
        (&Method::POST, "scripts") => {
            mount(state, &session, request.body.as_deref().unwrap_or_default())
        }
        (&Method::DELETE, "scripts") if state.unmount(&session) => {
            ControlReply::ok(json!({"session": session}))
        }
        (&Method::DELETE, "scripts") => ControlReply::problem(
            StatusCode::NOT_FOUND,
            format!("no script is mounted for the session `{session}`"),
        ),
        _ => ControlReply::problem(
            StatusCode::NOT_FOUND,
            "the control routes are GET /__mock/journal[/SESSION], GET /__mock/verification[/SESSION], \
             POST and DELETE /__mock/scripts[/SESSION]",
        ),
    }
}

fn mount(state: &ServerState, session: &str, body: &[u8]) -> ControlReply {
    let refuse = |message: String| ControlReply::problem(StatusCode::UNPROCESSABLE_ENTITY, message);
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) => return refuse(format!("the script is not UTF-8: {error}")),
    };
    match Script::from_yaml(text) {
        Ok(script) => match script.problems().into_iter().next() {
            Some(problem) => refuse(problem.to_string()),
            None => {
                state.mount(session, script);
                ControlReply::ok(json!({"session": session}))
            }
        },
        Err(error) => {
            let place = error
                .position()
                .map_or_else(String::new, |(line, column)| format!("{line}:{column}: "));
            let suggestion = error
                .suggestion()
                .map_or_else(String::new, |suggestion| format!("; {suggestion}"));
            refuse(format!("{place}{error}{suggestion}"))
        }
    }
}
