//! `harness show`

use std::path::{Path, PathBuf};

use super::arguments::ShowArguments;
use super::error::CommandError;
use super::output::print;
use crate::exit::ExitStatus;
use crate::trace::{Lane, TraceEvent};

/// The width of a lane in characters.
const LANE_WIDTH: usize = 46;

pub(crate) fn show(arguments: &ShowArguments) -> Result<ExitStatus, CommandError> {
    let path = trace_file(&arguments.trace);
    let events = read(&path)?;
    let mut lines = vec![format!(
        "{:>5} {:>9}  {:<LANE_WIDTH$}  {:<LANE_WIDTH$}  API",
        "#", "ms", "adapter", "CLI"
    )];
    for event in &events {
        lines.push(line(event));
        if arguments.payloads && !event.payload.is_null() {
            lines.push(format!("{:>17}{}", "", event.payload));
        }
    }
    print(&lines.join("\n"))?;
    Ok(ExitStatus::AsExpected)
}

fn trace_file(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join("log").join("trace.jsonl")
    } else {
        path.to_owned()
    }
}

fn read(path: &Path) -> Result<Vec<TraceEvent>, CommandError> {
    let text = std::fs::read_to_string(path).map_err(|source| CommandError::File {
        what: "read the trace",
        path: path.to_owned(),
        source,
    })?;
    let mut lines = text.lines().enumerate();
    let header = lines.next().map_or("", |(_, line)| line);
    if !header.contains("trace_version") {
        return Err(CommandError::Usage(format!(
            "{} is no trace",
            path.display()
        )));
    }
    lines
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|error| {
                CommandError::Usage(format!(
                    "cannot read {} line {}: {error}",
                    path.display(),
                    number + 1
                ))
            })
        })
        .collect()
}

/// One event in its lane; the harness's own doings stand across all three.
fn line(event: &TraceEvent) -> String {
    let milliseconds = event.at_ns as f64 / 1e6;
    let head = format!("{:>5} {milliseconds:>9.1}  ", event.seq);
    let indent = match event.lane {
        Lane::Tool | Lane::Runner | Lane::Step => Some(0),
        Lane::Cli => Some(LANE_WIDTH + 2),
        Lane::Api => Some(2 * (LANE_WIDTH + 2)),
        Lane::Fault | Lane::Harness => None,
    };
    match indent {
        Some(columns) => format!(
            "{head}{}{}",
            " ".repeat(columns),
            shortened(&words(event), LANE_WIDTH)
        ),
        None => format!("{head}── {}", words(event)),
    }
}

fn words(event: &TraceEvent) -> String {
    let place = event
        .worker
        .iter()
        .cloned()
        .chain(event.spawn.map(|spawn| format!("[{spawn}]")));
    let fields = event
        .fields
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let words: Vec<String> = place.chain([event.kind.clone()]).chain(fields).collect();
    words.join(" ")
}

fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}
