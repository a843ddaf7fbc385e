//! From a request to what will be sent.

use hyper::HeaderMap;
use serde_json::{Value, json};

use super::{
    address::{Address, Route},
    planner::{Answer, PlannedReply, Planner},
    state::ServerState,
};
use crate::{
    journal::Outcome,
    model::Model,
    observer::RequestIdentity,
    reply::estimated_input_tokens,
    request::{History, Rejection, validate_body, validate_headers, validate_model},
    selection::choose,
};

/// What is sent, and why.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) outcome: Outcome,
    pub(crate) failed_expectations: Vec<String>,
    pub(crate) reply: PlannedReply,
}

/// A request as far as a decision needs it.
#[derive(Debug)]
pub(crate) struct RequestFacts<'a> {
    pub(crate) address: &'a Address,
    pub(crate) identity: &'a RequestIdentity,
    pub(crate) headers: &'a HeaderMap,
    /// The body, or what the API says to it.
    pub(crate) body: Result<&'a Value, Rejection>,
}

impl RequestFacts<'_> {
    fn request_id(&self) -> String {
        format!("req_{:06}", self.identity.number)
    }
}

/// What the list of models shows when the server accepts any.
const USUAL_MODELS: [&str; 3] = ["claude-sonnet-5", "claude-haiku-4-5", "claude-sonnet-4-5"];

/// Decides what a request gets.
pub(crate) fn decide(state: &ServerState, request: &RequestFacts<'_>) -> Decision {
    let planner = Planner {
        request_id: request.request_id(),
    };
    match answer(state, request, &planner) {
        Ok(decision) => decision,
        Err(rejection) => planner.rejected(&rejection),
    }
}

fn answer(
    state: &ServerState,
    request: &RequestFacts<'_>,
    planner: &Planner,
) -> Result<Decision, Rejection> {
    let route = &request.address.route;
    if *route == Route::Unknown {
        return Err(Rejection::new(404, "Not Found"));
    }
    validate_headers(request.headers, state.settings.expected_key.as_deref())?;
    let models = &state.settings.models;
    match route {
        Route::Models => Ok(planner.served(&model_list(&listed_models(models)))),
        Route::Model(id) if listed_models(models).contains(&id.as_str()) => {
            Ok(planner.served(&model_card(id)))
        }
        Route::Model(id) => Err(Rejection::new(404, format!("model: {id}"))),
        _ => {
            let body = request.body.as_ref().map_err(Clone::clone)?;
            validate_body(body, *route == Route::Message)?;
            validate_model(body, models)?;
            Ok(if *route == Route::Message {
                message(state, request, body, planner)
            } else {
                planner.served(&json!({"input_tokens": estimated_input_tokens(body)}))
            })
        }
    }
}

fn message(
    state: &ServerState,
    request: &RequestFacts<'_>,
    body: &Value,
    planner: &Planner,
) -> Decision {
    let session = &request.address.session;
    let Some(script) = state.script(session) else {
        return planner.unanswered(format!("no script is mounted for the session `{session}`"));
    };
    let history = History::new(body);
    match choose(&script, &history) {
        Ok(choice) => {
            let attempt = state.next_attempt(session, choice);
            let answer = Answer {
                script: &script,
                exchange: choice.exchange,
                attempt,
                occurrence: choice.occurrence,
                history: &history,
            };
            planner.answered(&answer)
        }
        Err(message) => planner.unanswered(message),
    }
}

fn listed_models(known: &[Model]) -> Vec<&str> {
    if known.is_empty() {
        return USUAL_MODELS.to_vec();
    }
    known.iter().map(|model| model.id.as_str()).collect()
}

fn model_list(ids: &[&str]) -> Value {
    let cards: Vec<_> = ids.iter().map(|id| model_card(id)).collect();
    json!({"data": cards, "has_more": false, "first_id": ids.first(), "last_id": ids.last()})
}

fn model_card(id: &str) -> Value {
    json!({
        "type": "model",
        "id": id,
        "display_name": id,
        "created_at": "2025-01-01T00:00:00Z",
    })
}
