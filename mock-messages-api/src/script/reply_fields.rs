//! Reading a reply in any of its forms.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{
        self, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};

use super::{
    Block, ErrorDetail, EventsReply, Fault, MessageReply, Reply, ReplyAttempts, ScriptedEvent,
    StatusBody, StatusReply, StreamOptions, TokenUsage,
};

/// The mapping form of a reply.
///
/// With `content` it is a message of the model, with `status` an error or any other response, with `events` a
/// hand-written event stream, with `attempts` a reply for each attempt.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReplyFields {
    /// A message: its content blocks.
    content: Option<Vec<Block>>,
    /// With `content`: the stop reason; `tool_use` when there is a call and `end_turn` otherwise, if absent.
    stop_reason: Option<String>,
    /// With `content`: the stop sequence that was met.
    stop_sequence: Option<String>,
    /// With `content`: the model that answers; the one that was asked if absent.
    model: Option<String>,
    /// With `content`: the message id; derived from the exchange's position if absent.
    id: Option<String>,
    /// With `content`: token counts.
    usage: Option<TokenUsage>,
    /// A response with this HTTP status.
    #[schemars(range(min = 200, max = 599))]
    status: Option<u16>,
    /// With `status`: the error of the envelope; the usual one of that status if absent.
    error: Option<ErrorDetail>,
    /// With `status`: any body in place of the error envelope.
    body: Option<String>,
    /// A hand-written event stream.
    events: Option<Vec<ScriptedEvent>>,
    /// A reply for each attempt; the last is given from then on.
    attempts: Option<Vec<ReplyAttempts>>,
    /// Response headers, added to or in place of the usual ones; an empty value removes one.
    headers: Option<BTreeMap<String, String>>,
    /// Pause before the response, in milliseconds.
    delay_ms: Option<u64>,
    /// With `content` or `events`: how the stream is cut.
    stream: Option<StreamOptions>,
    /// A fault in the middle.
    fault: Option<Fault>,
}

const FORMS: [&str; 4] = ["content", "status", "events", "attempts"];

impl ReplyFields {
    /// Every field that is present, with the forms that may have it.
    fn present(&self) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
        const MESSAGE: &[&str] = &["content"];
        const STATUS: &[&str] = &["status"];
        const STREAM: &[&str] = &["content", "events"];
        const ANY: &[&str] = &["content", "status", "events"];
        [
            ("stop_reason", MESSAGE, self.stop_reason.is_some()),
            ("stop_sequence", MESSAGE, self.stop_sequence.is_some()),
            ("model", MESSAGE, self.model.is_some()),
            ("id", MESSAGE, self.id.is_some()),
            ("usage", MESSAGE, self.usage.is_some()),
            ("error", STATUS, self.error.is_some()),
            ("body", STATUS, self.body.is_some()),
            ("stream", STREAM, self.stream.is_some()),
            ("headers", ANY, self.headers.is_some()),
            ("delay_ms", ANY, self.delay_ms.is_some()),
            ("fault", ANY, self.fault.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, forms, present)| present.then_some((name, forms)))
    }

    fn form(&self) -> Result<&'static str, String> {
        let present = [
            self.content.is_some(),
            self.status.is_some(),
            self.events.is_some(),
            self.attempts.is_some(),
        ];
        let mut forms = FORMS
            .into_iter()
            .zip(present)
            .filter_map(|(form, is_present)| is_present.then_some(form));
        match (forms.next(), forms.next()) {
            (Some(form), None) => Ok(form),
            (Some(one), Some(other)) => Err(format!(
                "a reply has one form, but this has `{one}` and `{other}`"
            )),
            _ => Err(format!("a reply needs one of `{}`", FORMS.join("`, `"))),
        }
    }

    fn into_attempts(self) -> Result<ReplyAttempts, String> {
        let form = self.form()?;
        if let Some((stray, forms)) = self.present().find(|(_, forms)| !forms.contains(&form)) {
            return Err(format!(
                "`{stray}` belongs to a reply with `{}`, but this one has `{form}`",
                forms.join("` or `")
            ));
        }
        match self {
            Self {
                attempts: Some(attempts),
                ..
            } => successive(attempts),
            Self {
                status: Some(status),
                ..
            } => self.into_status(status).map(ReplyAttempts::from),
            Self {
                events: Some(events),
                ..
            } => Ok(Reply::Events(EventsReply {
                events,
                headers: self.headers.unwrap_or_default(),
                delay_ms: self.delay_ms.unwrap_or_default(),
                stream: self.stream.unwrap_or_default(),
                fault: self.fault,
            })
            .into()),
            _ => Ok(Reply::from(MessageReply {
                content: self.content.unwrap_or_default(),
                stop_reason: self.stop_reason,
                stop_sequence: self.stop_sequence,
                model: self.model,
                id: self.id,
                usage: self.usage.unwrap_or_default(),
                headers: self.headers.unwrap_or_default(),
                delay_ms: self.delay_ms.unwrap_or_default(),
                stream: self.stream.unwrap_or_default(),
                fault: self.fault,
            })
            .into()),
        }
    }

    fn into_status(self, status: u16) -> Result<Reply, String> {
        if !(200..600).contains(&status) {
            return Err(format!("status {status} is not between 200 and 599"));
        }
        let body = match (self.error, self.body) {
            (Some(_), Some(_)) => {
                return Err("`error` and `body` exclude each other; keep one of them".to_owned());
            }
            (None, Some(text)) => StatusBody::Text(text),
            (Some(error), None) => StatusBody::Error(error),
            (None, None) => StatusBody::Error(ErrorDetail::usual(status)),
        };
        Ok(Reply::Status(StatusReply {
            status,
            body,
            headers: self.headers.unwrap_or_default(),
            delay_ms: self.delay_ms.unwrap_or_default(),
            fault: self.fault,
        }))
    }
}

fn successive(attempts: Vec<ReplyAttempts>) -> Result<ReplyAttempts, String> {
    let mut replies = Vec::with_capacity(attempts.len());
    for attempt in attempts {
        let reply = attempt
            .into_only()
            .ok_or_else(|| "`attempts` cannot be nested; write one flat list".to_owned())?;
        replies.push(reply);
    }
    let mut replies = replies.into_iter();
    let first = replies
        .next()
        .ok_or_else(|| "`attempts` needs at least one reply".to_owned())?;
    Ok(ReplyAttempts::new(first, replies.collect()))
}

impl<'de> Deserialize<'de> for ReplyAttempts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ReplyVisitor;

        impl<'de> Visitor<'de> for ReplyVisitor {
            type Value = ReplyAttempts;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(
                    "a list of content blocks, or a mapping with one of `content`, `status`, `events`, `attempts`",
                )
            }

            fn visit_seq<A: SeqAccess<'de>>(self, blocks: A) -> Result<ReplyAttempts, A::Error> {
                Vec::<Block>::deserialize(SeqAccessDeserializer::new(blocks))
                    .map(ReplyAttempts::from)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ReplyAttempts, A::Error> {
                ReplyFields::deserialize(MapAccessDeserializer::new(map))?
                    .into_attempts()
                    .map_err(de::Error::custom)
            }
        }

        deserializer.deserialize_any(ReplyVisitor)
    }
}

impl JsonSchema for ReplyAttempts {
    fn schema_name() -> Cow<'static, str> {
        "Reply".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A list of content blocks, or a mapping with one of `content`, `status`, `events`, `attempts`.",
            "anyOf": [
                generator.subschema_for::<Vec<Block>>(),
                generator.subschema_for::<ReplyFields>(),
            ],
        })
    }
}
