//! The event stream of a reply.

use bytes::Bytes;
use serde_json::{Value, json};

use super::RenderedMessage;
use crate::script::{ErrorDetail, LineEnding, Pings, ScriptedEvent, StreamOptions};

/// One event as it goes over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WireEvent {
    /// The event's type, `raw` for hand-written bytes.
    pub(crate) kind: String,
    /// The event with its closing blank line.
    pub(crate) bytes: Bytes,
}

impl WireEvent {
    fn new(name: Option<&str>, data: &Value, line_ending: LineEnding) -> Self {
        let end = line_ending.as_str();
        let event_line = name.map_or_else(String::new, |name| format!("event: {name}{end}"));
        Self {
            kind: event_kind(data).to_owned(),
            bytes: format!("{event_line}data: {data}{end}{end}").into(),
        }
    }

    fn typed(data: &Value, line_ending: LineEnding) -> Self {
        Self::new(Some(event_kind(data)), data, line_ending)
    }
}

fn event_kind(data: &Value) -> &str {
    data["type"].as_str().unwrap_or("message")
}

/// The event of an error in the middle of a stream.
pub(crate) fn error_event(error: &ErrorDetail, line_ending: LineEnding) -> WireEvent {
    WireEvent::typed(&error.event(), line_ending)
}

/// All events of a message, cut and ordered as its options say.
pub(crate) fn message_events(message: &RenderedMessage, options: &StreamOptions) -> Vec<WireEvent> {
    let events = with_pings(plain_events(message), options.pings)
        .iter()
        .map(|data| WireEvent::typed(data, options.line_ending))
        .collect();
    arranged(events, options)
}

/// The events of a hand-written stream.
pub(crate) fn scripted_events(events: &[ScriptedEvent], options: &StreamOptions) -> Vec<WireEvent> {
    let events = events
        .iter()
        .map(|event| scripted_event(event, options.line_ending))
        .collect();
    arranged(events, options)
}

fn scripted_event(event: &ScriptedEvent, line_ending: LineEnding) -> WireEvent {
    if let Some(raw) = &event.raw {
        return WireEvent {
            kind: "raw".to_owned(),
            bytes: raw.clone().into(),
        };
    }
    let data = event.data.clone().unwrap_or_else(|| json!({}));
    match event.event.as_deref() {
        None => WireEvent::typed(&data, line_ending),
        Some("") => WireEvent::new(None, &data, line_ending),
        Some(name) => WireEvent::new(Some(name), &data, line_ending),
    }
}

fn plain_events(message: &RenderedMessage) -> Vec<Value> {
    let mut events = vec![json!({"type": "message_start", "message": message.start()})];
    for (index, block) in message.blocks.iter().enumerate() {
        events.push(json!({
            "type": "content_block_start",
            "index": index,
            "content_block": block.start,
        }));
        events.extend(
            block.deltas.iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": message.stop_reason, "stop_sequence": message.stop_sequence},
        "usage": message.final_usage(),
    }));
    events.push(json!({"type": "message_stop"}));
    events
}

fn with_pings(events: Vec<Value>, pings: Pings) -> Vec<Value> {
    let ping = || json!({"type": "ping"});
    match pings {
        Pings::None => events,
        Pings::Every => events
            .into_iter()
            .flat_map(|event| [event, ping()])
            .collect(),
        Pings::Once => {
            let mut events = events;
            let first_block = events
                .iter()
                .position(|event| event["type"] == "content_block_start");
            events.insert(first_block.unwrap_or_default() + 1, ping());
            events
        }
    }
}

fn arranged(mut events: Vec<WireEvent>, options: &StreamOptions) -> Vec<WireEvent> {
    events.retain(|event| !options.omit.contains(&event.kind));
    match &options.order {
        None => events,
        Some(order) => order
            .iter()
            .filter_map(|position| events.get(*position).cloned())
            .collect(),
    }
}
