//! The part of a trace that explains a failure.

use std::sync::Arc;

use super::event::{Lane, TraceEvent};

/// How many events of each of the three lanes are shown.
const SHOWN: usize = 7;
/// How long a shown event may be, in characters.
const WIDTH: usize = 220;

/// The three lanes a reader thinks in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    Adapter,
    Cli,
    Api,
}

/// The last events of adapter, CLI and API up to `place` (or the end), oldest first, a line each.
#[must_use]
pub fn last_events(events: &[Arc<TraceEvent>], place: Option<u64>) -> Vec<String> {
    let before: Vec<&TraceEvent> = events
        .iter()
        .map(Arc::as_ref)
        .filter(|event| place.is_none_or(|place| event.seq <= place))
        .collect();
    let mut chosen: Vec<&TraceEvent> = [Reader::Adapter, Reader::Cli, Reader::Api]
        .into_iter()
        .flat_map(|reader| {
            let mut mine: Vec<&TraceEvent> = before
                .iter()
                .rev()
                .copied()
                .filter(|event| reader_of(event) == Some(reader) && !is_routine(event))
                .take(SHOWN)
                .collect();
            mine.reverse();
            mine
        })
        .collect();
    chosen.sort_by_key(|event| event.seq);
    chosen.into_iter().map(describe).collect()
}

/// One event as a line: place, time, lane, names, and the start of its payload.
#[must_use]
pub fn describe(event: &TraceEvent) -> String {
    let lane = match reader_of(event) {
        Some(Reader::Adapter) => "adapter",
        Some(Reader::Cli) => "cli",
        Some(Reader::Api) => "api",
        None => "harness",
    };
    let milliseconds = event.at_ns as f64 / 1e6;
    let fields: Vec<String> = event
        .fields
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let place: Vec<String> = event
        .worker
        .iter()
        .cloned()
        .chain(event.spawn.map(|spawn| format!("spawn {spawn}")))
        .collect();
    let head = format!(
        "#{:<4} {milliseconds:>8.1} ms  {lane:<7} {} {} {}",
        event.seq,
        event.kind,
        fields.join(" "),
        place.join(" ")
    );
    let payload = if event.payload.is_null() {
        String::new()
    } else {
        format!("  {}", event.payload)
    };
    let line: String = head
        .trim_end()
        .chars()
        .chain(payload.chars())
        .take(WIDTH)
        .collect();
    line.replace('\n', " ")
}

fn reader_of(event: &TraceEvent) -> Option<Reader> {
    match event.lane {
        Lane::Runner | Lane::Tool | Lane::Step => Some(Reader::Adapter),
        Lane::Cli => Some(Reader::Cli),
        Lane::Api => (event.kind != "journalled").then_some(Reader::Api),
        Lane::Fault | Lane::Harness => None,
    }
}

/// What happens all the time and explains nothing: the pieces of a streamed reply, and the harness
/// reading snapshots.
fn is_routine(event: &TraceEvent) -> bool {
    const READING: [&str; 2] = ["session/snapshot", "session/changed"];
    let method = event.fields.get("method").map(String::as_str);
    match event.lane {
        Lane::Api => event.kind == "event",
        Lane::Cli => event
            .fields
            .get("type")
            .is_some_and(|name| name == "stream_event"),
        Lane::Runner => method.is_some_and(|method| READING.contains(&method)),
        _ => false,
    }
}
