//! One model call: requests, retries, and the reply as it streams in.

mod ending;
mod fallback;
mod show;
mod streamed;
mod whole;

use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use super::context;
use super::run::Turn;
use crate::environment::{Credential, Environment};
use crate::messages_api::{
    ApiFailure, FailureReport, Features, Model, ReplyAssembler, RequestContext, RequestHead,
    RetryPlan, request_body,
};
use crate::tools;
use crate::transcript::{RecordedRequest, api_messages, system_entry};
use crate::usage::Tokens;

/// How a model call ended.
pub(crate) enum StepEnd {
    Reply {
        /// The connection was lost after a part of the reply.
        cut: Option<Cut>,
        /// Whether there is something to see.
        visible: bool,
    },
    Failed(Box<FailureReport>),
    Interrupted,
}

/// How a reply was lost half way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Connection,
    Server,
}

impl Cut {
    fn text(self) -> &'static str {
        match self {
            Self::Connection => {
                "API Error: Connection lost mid-response. The response above may be incomplete."
            }
            Self::Server => {
                "API Error: Server error mid-response. The response above may be incomplete."
            }
        }
    }

    /// What the user is told; `last` when nothing more is tried.
    pub(crate) fn report(self, last: bool) -> FailureReport {
        match self {
            Self::Connection => FailureReport::cut_off(self.text(), last),
            Self::Server => FailureReport::broken_off(self.text()),
        }
    }
}

/// How one request ended.
enum AttemptEnd {
    Complete(Received),
    /// Lost after a block was complete.
    Cut(Received, Cut),
    /// To be repeated by the retry loop, and announced unless the API itself said it is overloaded.
    Retry {
        failure: ApiFailure,
        announced: bool,
    },
    /// To be repeated at once, without streaming.
    FallBack(ApiFailure),
    Failed(ApiFailure),
    Interrupted,
}

/// The blocks of a reply that have been shown, and what is known about the whole.
struct Received {
    /// The record of the request that this answers.
    reference: Uuid,
    reply: ReplyAssembler,
    blocks: Vec<ShownBlock>,
    request_id: Option<String>,
    delivery: Delivery,
}

/// How a reply came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    Streamed,
    Whole,
}

impl Received {
    fn usage(&self) -> Tokens {
        Tokens::read(self.reply.usage())
    }
}

struct ShownBlock {
    index: u64,
    uuid: Uuid,
    timestamp: String,
    block: Value,
}

/// Asks the model until there is a reply or nothing more to try.
pub(crate) async fn call_model(turn: &mut Turn) -> StepEnd {
    let session = Rc::clone(&turn.session);
    let started = Instant::now();
    let model = session.model.borrow().clone();
    if !model.is_known()
        && !std::mem::replace(&mut session.ledger.borrow_mut().unknown_model_told, true)
    {
        eprintln!(
            "[claude-code:unrecognized_model] {}",
            json!({"model": model.name, "query_source": "sdk"})
        );
    }
    let end = Caller::new(turn, model).run().await;
    context::release_prompts(&session);
    session.ledger.borrow_mut().api_time += started.elapsed();
    end
}

struct Caller<'a> {
    turn: &'a mut Turn,
    model: Model,
    features: Features,
    retries: RetryPlan,
    max_tokens: u64,
    stream: bool,
    /// A connection was not dropped so far.
    keep_alive: bool,
    /// How often in a row the API said that it is overloaded.
    overloads: u64,
    /// Written after the first request to the model that took over (observed on CLI 2.1.316).
    entry_of_switch: Option<Value>,
}

impl<'a> Caller<'a> {
    fn new(turn: &'a mut Turn, model: Model) -> Self {
        let environment = &turn.session.environment;
        let base = environment.number("CLAUDE_CODE_OVERLOADED_RETRY_BASE_DELAY_MS");
        Self {
            retries: RetryPlan::new(environment.max_retries(), base),
            max_tokens: own_limit(environment).unwrap_or_else(|| model.max_output_tokens()),
            features: Features::default(),
            stream: true,
            keep_alive: true,
            overloads: 0,
            entry_of_switch: None,
            turn,
            model,
        }
    }

    async fn run(mut self) -> StepEnd {
        if self.turn.session.arguments.prompt_commands {
            return self.follow_commands().await;
        }
        if self.turn.session.environment.credential().is_none() {
            self.record(&self.body());
            return StepEnd::Failed(Box::new(FailureReport::not_logged_in()));
        }
        loop {
            let end = if self.stream {
                self.attempt_streaming().await
            } else {
                self.attempt_whole().await
            };
            match end {
                AttemptEnd::Interrupted => return StepEnd::Interrupted,
                AttemptEnd::Complete(received) => return self.accept(received, None),
                AttemptEnd::Cut(received, cut) => return self.accept(received, Some(cut)),
                AttemptEnd::FallBack(failure) => {
                    if !self.may_fall_back() {
                        return self.failed(&failure);
                    }
                    self.fall_back();
                }
                AttemptEnd::Failed(failure) => {
                    if failure.suggests_whole_reply() && self.stream {
                        self.stream = false;
                        continue;
                    }
                    if failure.suggests_fewer_features()
                        && let Some(fewer) = self.features.fewer()
                    {
                        self.features = fewer;
                        continue;
                    }
                    if let Some(end) = self.retry(failure, true, false).await {
                        return end;
                    }
                }
                AttemptEnd::Retry { failure, announced } => {
                    if let Some(end) = self.retry(failure, announced, true).await {
                        return end;
                    }
                }
            }
        }
    }

    /// Waits before another try; returns how the call ended if there is none.
    /// A reply that was lost while it streamed has the request without streaming as its last resort.
    async fn retry(
        &mut self,
        failure: ApiFailure,
        announced: bool,
        in_stream: bool,
    ) -> Option<StepEnd> {
        if self.switches_model(&failure) {
            return None;
        }
        let Some(retry) = self.retries.next(&failure) else {
            if in_stream && self.may_fall_back() {
                self.fall_back();
                return None;
            }
            return Some(self.failed(&failure));
        };
        let session = &self.turn.session;
        if announced {
            session.output.frame(&retry.frame(session.id));
            let entry = system_entry(&session.stamp, retry.entry_members());
            session.transcript.chain(entry);
        }
        self.keep_alive &= failure != ApiFailure::ConnectionDropped;
        tokio::select! {
            () = self.turn.interrupt.cancelled() => Some(StepEnd::Interrupted),
            () = tokio::time::sleep(retry.delay) => None,
        }
    }

    fn may_fall_back(&self) -> bool {
        let environment = &self.turn.session.environment;
        self.stream && !environment.flag("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK")
    }

    /// The request without streaming has one retry of its own, if there may be retries at all (observed on CLI 2.1.316).
    fn fall_back(&mut self) {
        self.stream = false;
        let allowed = self.turn.session.environment.max_retries();
        self.retries = RetryPlan::new(allowed.min(1), None);
    }

    fn failed(&self, failure: &ApiFailure) -> StepEnd {
        let gateway = self.turn.session.environment.base_url();
        let gateway = gateway.split_once("://").map_or(gateway, |(_, rest)| rest);
        let host = gateway.split('/').next().unwrap_or(gateway);
        let mut report = failure.report(&self.model.name, host);
        let credential = self.turn.session.environment.credential();
        if failure.refuses_key() && matches!(credential, Some(Credential::Bearer(_))) {
            // Without a key of its own the program takes it for a login (observed on CLI 2.1.316).
            report.text = FailureReport::not_logged_in().text;
        }
        StepEnd::Failed(Box::new(report))
    }

    fn body(&self) -> Value {
        let session = &self.turn.session;
        let system_prompt = session.system_prompt.borrow();
        let context = RequestContext {
            model: &self.model,
            session_id: session.id,
            device_id: session.environment.device_id(),
            version: &session.stamp.version,
            entrypoint: session.environment.entrypoint(),
            system_prompt: &system_prompt,
            tools: tools::definitions(session),
            max_tokens: self.max_tokens,
        };
        let system_turns = self.model.system_turns();
        let messages = session
            .transcript
            .read(|entries| api_messages(entries, system_turns));
        request_body(&context, &messages, self.features, self.stream)
    }

    fn head(&self) -> RequestHead<'_> {
        RequestHead {
            session_id: self.turn.session.id,
            model: &self.model,
            features: self.features,
            keep_alive: self.keep_alive,
        }
    }

    fn record(&mut self, body: &Value) -> Uuid {
        let session = &self.turn.session;
        let id = Uuid::new_v4();
        let version = &session.stamp.version;
        let betas = self.features.betas(&self.model);
        let request = RecordedRequest {
            body,
            betas: &betas,
            id,
        };
        session
            .requests
            .record(&session.transcript, session.id, version, &request);
        if let Some(entry) = self.entry_of_switch.take() {
            session.transcript.chain(entry);
        }
        id
    }

    fn charge(&mut self, tokens: Tokens) {
        self.turn.tokens.add(tokens);
        if tokens != Tokens::default() {
            self.turn.bill.add(&self.model, tokens);
            let mut ledger = self.turn.session.ledger.borrow_mut();
            ledger.bill.add(&self.model, tokens);
        }
    }
}

/// The limit of a reply that the host's environment sets, in tokens.
fn own_limit(environment: &Environment) -> Option<u64> {
    environment.number("CLAUDE_CODE_MAX_OUTPUT_TOKENS")
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
