//! Steps and actions as they are written.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};

use super::{ApiMoment, Entries, Located, Node, PointDocument};
use crate::scenario::{CliPhase, Direction, SessionStatus};

/// One step: exactly one of the verbs, and what belongs to it. `at` goes with `do`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StepDocument {
    /// Start the session with this first user message; `{}` starts it without one.
    pub(crate) start: Option<Located<StartDocument>>,
    /// Send a user message.
    pub(crate) send: Option<Located<String>>,
    /// Wait for a session status, for a pending interrupt, or for an observation.
    #[serde(rename = "await")]
    pub(crate) awaited: Option<Located<AwaitDocument>>,
    /// Approve the pending call of this tool.
    pub(crate) approve: Option<Located<String>>,
    /// Reject the pending call of this tool.
    pub(crate) reject: Option<Located<RejectDocument>>,
    /// Cancel the turn.
    pub(crate) cancel: Option<Located<CancelTarget>>,
    /// Stop the worker as in a deployment: it finishes what is in flight and exits.
    pub(crate) stop: Option<Located<WorkerTarget>>,
    /// Start a worker.
    pub(crate) launch: Option<Located<WorkerTarget>>,
    /// SIGKILL.
    pub(crate) kill: Option<Located<SignalTarget>>,
    /// SIGTERM.
    pub(crate) terminate: Option<Located<SignalTarget>>,
    /// SIGSTOP.
    pub(crate) freeze: Option<Located<SignalTarget>>,
    /// SIGCONT.
    pub(crate) thaw: Option<Located<SignalTarget>>,
    /// Hold what this names, run the steps under `do`, and let it go.
    pub(crate) at: Option<Located<PointDocument>>,
    /// With `at`: what happens meanwhile.
    #[serde(rename = "do")]
    pub(crate) actions: Option<Located<Vec<Located<StepDocument>>>>,
    /// With `send`, `approve`, `reject`, `cancel`: what the adapter must answer. `true` when absent.
    pub(crate) accepted: Option<Located<bool>>,
    /// Only in these variants.
    #[serde(rename = "in")]
    pub(crate) variants: Option<Located<Vec<Located<String>>>>,
}

/// The first user message.
#[derive(Debug, Clone)]
pub(crate) struct StartDocument {
    pub(crate) message: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct StartFields {
    /// The first user message.
    message: Option<String>,
}

/// What a step waits for.
#[derive(Debug, Clone)]
pub(crate) enum AwaitDocument {
    Status(SessionStatus),
    Interrupt {
        tool: Located<String>,
        arguments: Option<Node>,
    },
    Point(Box<PointDocument>),
}

/// `interrupt` (with `arguments`), or the keys of an observation.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct AwaitFields {
    /// A call of this tool waits for a person.
    interrupt: Option<Located<String>>,
    /// With `interrupt`: the arguments a person must be shown.
    arguments: Option<Node>,
    /// The Messages API: `request`, or `event` with `type`.
    api: Option<Located<ApiMoment>>,
    /// A line to (`in`) or from (`out`) the CLI.
    frame: Option<Located<Direction>>,
    /// The CLI process.
    cli: Option<Located<CliPhase>>,
    /// A custom tool's handler, with `phase`.
    tool: Option<Located<String>>,
    /// A commit boundary of a Step, with `phase`.
    step: Option<Located<String>>,
    /// A method of the runner protocol, with `phase`.
    runner: Option<Located<String>>,
    /// The frame's or the event's type.
    #[serde(rename = "type")]
    event_type: Option<Located<String>>,
    /// The frame's subtype.
    subtype: Option<Located<String>>,
    /// Which moment.
    phase: Option<Located<String>>,
    /// Which occurrence, from 1.
    nth: Option<Located<usize>>,
    /// Only in this CLI process.
    spawn: Option<Located<usize>>,
    /// Values in the payload, by JSON pointer.
    #[serde(default)]
    matching: Entries<Node>,
}

impl AwaitFields {
    fn into_document<E: de::Error>(self) -> Result<AwaitDocument, E> {
        let Self {
            interrupt,
            arguments,
            api,
            frame,
            cli,
            tool,
            step,
            runner,
            event_type,
            subtype,
            phase,
            nth,
            spawn,
            matching,
        } = self;
        let point = PointDocument {
            api,
            frame,
            cli,
            tool,
            step,
            runner,
            event_type,
            subtype,
            phase,
            nth,
            spawn,
            matching,
        };
        match (interrupt, arguments) {
            (Some(tool), arguments) if point.is_empty() => {
                Ok(AwaitDocument::Interrupt { tool, arguments })
            }
            (Some(_), _) => Err(E::custom("`interrupt` takes only `arguments` beside it")),
            (None, Some(_)) => Err(E::custom("`arguments` belongs to `interrupt`")),
            (None, None) => Ok(AwaitDocument::Point(Box::new(point))),
        }
    }
}

impl PointDocument {
    fn is_empty(&self) -> bool {
        self.api.is_none()
            && self.frame.is_none()
            && self.cli.is_none()
            && self.tool.is_none()
            && self.step.is_none()
            && self.runner.is_none()
            && self.event_type.is_none()
            && self.subtype.is_none()
            && self.phase.is_none()
            && self.nth.is_none()
            && self.spawn.is_none()
            && self.matching.is_empty()
    }
}

/// A rejection: the tool, and what the model is told.
#[derive(Debug, Clone)]
pub(crate) struct RejectDocument {
    pub(crate) tool: String,
    pub(crate) message: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct RejectFields {
    /// The tool.
    tool: String,
    /// What the model is told; the adapter's default when absent.
    message: Option<String>,
}

/// What can be cancelled.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum CancelTarget {
    /// The turn that runs or waits.
    Turn,
}

/// What can be stopped and launched.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum WorkerTarget {
    /// The newest worker process.
    Worker,
}

/// Whom a signal goes to: the newest of its kind.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SignalTarget {
    /// The worker and all its descendants.
    Worker,
    /// The worker process alone; its children live on.
    WorkerOnly,
    /// The Claude Code CLI and its descendants.
    Cli,
}

/// Reads a value that is a plain text or a mapping, whichever is shorter to write.
macro_rules! text_or_mapping {
    ($document:ty, $fields:ty, $expecting:literal, $description:literal, $text_schema:tt, |$text:ident| $from_text:expr, |$mapping:ident| $from_mapping:expr) => {
        impl<'de> Deserialize<'de> for $document {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct FormVisitor;

                impl<'de> Visitor<'de> for FormVisitor {
                    type Value = $document;

                    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                        formatter.write_str($expecting)
                    }

                    fn visit_str<E: de::Error>(self, $text: &str) -> Result<$document, E> {
                        $from_text
                    }

                    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$document, A::Error> {
                        let $mapping = <$fields>::deserialize(MapAccessDeserializer::new(map))?;
                        $from_mapping
                    }
                }

                deserializer.deserialize_any(FormVisitor)
            }
        }

        impl JsonSchema for $document {
            fn schema_name() -> Cow<'static, str> {
                stringify!($document).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "description": $description,
                    "anyOf": [$text_schema, generator.subschema_for::<$fields>()],
                })
            }
        }
    };
}

text_or_mapping!(
    StartDocument,
    StartFields,
    "the first user message, or a mapping with `message`",
    "The first user message, or `{}` to start without one.",
    {"type": "string"},
    |text| Ok(StartDocument { message: Some(text.to_owned()) }),
    |fields| Ok(StartDocument { message: fields.message })
);

text_or_mapping!(
    AwaitDocument,
    AwaitFields,
    "`idle`, `running`, `waiting`, or a mapping with `interrupt` or an observation",
    "A session status, `{interrupt: TOOL}`, or an observation.",
    {"enum": ["idle", "running", "waiting"]},
    |text| SessionStatus::deserialize(de::value::StrDeserializer::new(text)).map(AwaitDocument::Status),
    |fields| fields.into_document()
);

text_or_mapping!(
    RejectDocument,
    RejectFields,
    "a tool, or a mapping with `tool` and `message`",
    "The tool, or the tool with the message that the model is told.",
    {"type": "string"},
    |text| Ok(RejectDocument { tool: text.to_owned(), message: None }),
    |fields| Ok(RejectDocument { tool: fields.tool, message: fields.message })
);
