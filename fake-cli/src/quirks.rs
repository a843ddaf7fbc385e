//! Named departures from the imitated version.
//!
//! A quirk forces, every time, what the real program does only sometimes, or did in some version.

use std::fmt;

/// One named behaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quirk {
    /// A resumed deferred call never asks its hooks.
    ResumeSkipsHook,
    /// A resumed deferred call asks `can_use_tool` although a hook allowed it.
    ResumeAsksCanUseTool,
    /// A hook's `defer` counts as no decision.
    DeferIgnored,
    /// A hook's `defer` counts as `ask`.
    DeferAsksCanUseTool,
    /// A resumed deferred call is reported as unavailable.
    ToolDeferredUnavailable,
    /// After a deferral the model is asked once more.
    ExtraModelCallAfterDefer,
    /// A turn ends without its result frame.
    ResultMissing,
    /// Every result frame comes twice.
    SecondResult,
    /// The exit code is 1 although the last result was none of an error.
    NonzeroExitAfterSuccess,
    /// The process stays after its input has ended.
    LingerAfterResult,
    /// Frames reach the host in two writes.
    SplitLines,
    /// Lines that are no JSON stand between the frames.
    NoiseOnStdout,
    /// A line of more than a megabyte comes before each result.
    OversizedLine,
    /// Frames of unknown types stand between the others.
    UnknownFrames,
    /// The process says nothing more before the first result, for as long as its input is open.
    StallBeforeResult,
    /// Entries of the assistant are not mirrored.
    MirrorLoss,
    /// Every tool use of a reply gets the id of the first.
    DuplicateToolUseId,
    /// A built-in tool goes by another name, under which no matcher knows it.
    NewBuiltinName(String),
}

/// A quirk's name is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("error: unknown quirk '{0}'; `fake-claude quirks` lists them")]
pub struct UnknownQuirk(String);

/// Name, summary and source of a quirk.
#[derive(Debug, Clone, Copy)]
pub struct QuirkDescription {
    /// How the command line names it.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Where the behaviour was seen.
    pub source: &'static str,
}

/// Every quirk.
pub const QUIRKS: &[QuirkDescription] = &[
    QuirkDescription {
        name: "resume-skips-hook",
        summary: "a resumed deferred call does not ask its PreToolUse hooks; the mode decides",
        source: "CLI 2.1.150 to 2.1.332 without --await-initialize, when initialize comes late",
    },
    QuirkDescription {
        name: "resume-asks-can-use-tool",
        summary: "a resumed deferred call asks can_use_tool although a hook allowed it",
        source: "CLI 2.1.316 in plan mode, where an allow of a hook is not enough",
    },
    QuirkDescription {
        name: "defer-ignored",
        summary: "a hook's `defer` counts as no decision",
        source: "CLI 2.1.316 for a decision that it does not know",
    },
    QuirkDescription {
        name: "defer-asks-can-use-tool",
        summary: "a hook's `defer` counts as `ask`",
        source: "not seen yet; for hosts that must not take a question for a deferral",
    },
    QuirkDescription {
        name: "tool-deferred-unavailable",
        summary: "a resumed deferred call is reported as unavailable and stays pending",
        source: "CLI 2.1.316 with the TypeScript SDK 0.3.332, whose servers come in initialize only",
    },
    QuirkDescription {
        name: "extra-model-call-after-defer",
        summary: "after a deferral the model is asked once more, in the same turn",
        source: "CLI 2.1.316 on an empty prompt after a resumed call",
    },
    QuirkDescription {
        name: "result-missing",
        summary: "a turn ends without its result frame",
        source: "https://github.com/anthropics/claude-code/issues/87577",
    },
    QuirkDescription {
        name: "second-result",
        summary: "every result frame comes twice",
        source: "https://github.com/anthropics/claude-code/issues/16768",
    },
    QuirkDescription {
        name: "nonzero-exit-after-success",
        summary: "the exit code is 1 after a result that is no error",
        source: "https://github.com/kunchenguid/no-mistakes/issues/554",
    },
    QuirkDescription {
        name: "linger-after-result",
        summary: "the process does not exit when its input ends, only on a signal",
        source: "https://github.com/anthropics/claude-agent-sdk-typescript/issues/142",
    },
    QuirkDescription {
        name: "split-lines",
        summary: "every frame reaches the host in two writes",
        source: "https://github.com/anthropics/claude-agent-sdk-python/issues/15",
    },
    QuirkDescription {
        name: "noise-on-stdout",
        summary: "a line that is no JSON comes before every frame",
        source: "https://github.com/anthropics/claude-agent-sdk-python/issues/148",
    },
    QuirkDescription {
        name: "oversized-line",
        summary: "a frame of more than a megabyte comes before every result",
        source: "https://github.com/anthropics/claude-agent-sdk-python/issues/98",
    },
    QuirkDescription {
        name: "unknown-frames",
        summary: "a frame of an unknown type comes before every frame",
        source: "https://github.com/anthropics/claude-agent-sdk-python/issues/599",
    },
    QuirkDescription {
        name: "stall-before-result",
        summary: "the result is held back until the input ends",
        source: "https://github.com/anthropics/claude-code/issues/30333",
    },
    QuirkDescription {
        name: "mirror-loss",
        summary: "assistant entries are missing from the session mirror",
        source: "https://github.com/severity1/claude-agent-sdk-go/pull/138",
    },
    QuirkDescription {
        name: "duplicate-tool-use-id",
        summary: "every tool use of a reply has the id of its first",
        source: "https://github.com/anthropics/claude-code/issues/20508",
    },
    QuirkDescription {
        name: "new-builtin-name=NAME",
        summary: "Bash goes by another name",
        source: "CLI 2.1.316, where hooks know the tool Task as Agent",
    },
];

/// The quirks of one run.
#[derive(Debug, Clone, Default)]
pub struct Quirks(Vec<Quirk>);

impl Quirks {
    /// Reads names, each possibly a comma-separated list.
    ///
    /// # Errors
    /// On the first name that is not known.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownQuirk> {
        names
            .into_iter()
            .flat_map(|names| names.split(','))
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(|name| match name {
                "resume-skips-hook" => Ok(Quirk::ResumeSkipsHook),
                "resume-asks-can-use-tool" => Ok(Quirk::ResumeAsksCanUseTool),
                "defer-ignored" => Ok(Quirk::DeferIgnored),
                "defer-asks-can-use-tool" => Ok(Quirk::DeferAsksCanUseTool),
                "tool-deferred-unavailable" => Ok(Quirk::ToolDeferredUnavailable),
                "extra-model-call-after-defer" => Ok(Quirk::ExtraModelCallAfterDefer),
                "result-missing" => Ok(Quirk::ResultMissing),
                "second-result" => Ok(Quirk::SecondResult),
                "nonzero-exit-after-success" => Ok(Quirk::NonzeroExitAfterSuccess),
                "linger-after-result" => Ok(Quirk::LingerAfterResult),
                "split-lines" => Ok(Quirk::SplitLines),
                "noise-on-stdout" => Ok(Quirk::NoiseOnStdout),
                "oversized-line" => Ok(Quirk::OversizedLine),
                "unknown-frames" => Ok(Quirk::UnknownFrames),
                "stall-before-result" => Ok(Quirk::StallBeforeResult),
                "mirror-loss" => Ok(Quirk::MirrorLoss),
                "duplicate-tool-use-id" => Ok(Quirk::DuplicateToolUseId),
                other => match other.strip_prefix("new-builtin-name=") {
                    Some(name) if !name.is_empty() => Ok(Quirk::NewBuiltinName(name.to_owned())),
                    _ => Err(UnknownQuirk(other.to_owned())),
                },
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(crate) fn has(&self, quirk: &Quirk) -> bool {
        self.0.contains(quirk)
    }

    /// The lines that stand before a frame, by its type.
    pub(crate) fn lines_before(&self, frame_type: Option<&str>) -> Vec<String> {
        let mut lines = Vec::new();
        if self.has(&Quirk::NoiseOnStdout) {
            lines.push("warning: this line is no frame".to_owned());
        }
        if self.has(&Quirk::UnknownFrames) {
            lines.push(r#"{"type":"brand_new_frame","payload":{"type":"result"}}"#.to_owned());
        }
        if self.has(&Quirk::OversizedLine) && frame_type == Some("result") {
            let filler = "x".repeat(OVERSIZED_LINE);
            lines.push(format!(
                r#"{{"type":"brand_new_frame","payload":"{filler}"}}"#
            ));
        }
        lines
    }

    /// How often a frame is written.
    pub(crate) fn repetitions(&self, frame_type: Option<&str>) -> usize {
        match frame_type {
            Some("result") if self.has(&Quirk::ResultMissing) => 0,
            Some("result") if self.has(&Quirk::SecondResult) => 2,
            _ => 1,
        }
    }

    /// The writes in which a line goes out.
    pub(crate) fn pieces_of_line(&self, line: Vec<u8>) -> Vec<Vec<u8>> {
        if !self.has(&Quirk::SplitLines) {
            return vec![line];
        }
        let middle = line.len() / 2;
        vec![line[..middle].to_vec(), line[middle..].to_vec()]
    }

    /// The name by which the shell tool goes.
    pub(crate) fn shell_name(&self) -> Option<&str> {
        self.0.iter().find_map(|quirk| match quirk {
            Quirk::NewBuiltinName(name) => Some(name.as_str()),
            _ => None,
        })
    }
}

/// Bytes of an oversized line: more than the megabyte at which readers tend to give up.
const OVERSIZED_LINE: usize = 1_100_000;

impl fmt::Display for QuirkDescription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:<28} {}\n{:<28} seen: {}",
            self.name, self.summary, "", self.source
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_described_quirk_can_be_named() {
        for description in QUIRKS {
            let quirks = Quirks::parse([description.name]);

            assert_eq!(
                quirks.map(|quirks| quirks.0.len()),
                Ok(1),
                "{}",
                description.name
            );
        }
        assert!(Quirks::parse(["no-such-quirk"]).is_err());
    }
}
