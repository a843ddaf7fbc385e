//! Named departures from the imitated version.
//!
//! A quirk forces, every time, what the real program does only sometimes, or did in some version.

use std::fmt;

/// One named behaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quirk {
    /// A resumed deferred call never asks its hooks.
    ResumeSkipsHook,
    /// A hook's `defer` counts as no decision.
    DeferIgnored,
    /// A resumed deferred call is reported as unavailable.
    ToolDeferredUnavailable,
    /// Frames reach the host in two writes.
    SplitLines,
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
        name: "defer-ignored",
        summary: "a hook's `defer` counts as no decision",
        source: "hook answers that versions before deferral do not know",
    },
    QuirkDescription {
        name: "tool-deferred-unavailable",
        summary: "a resumed deferred call is reported as unavailable and stays pending",
        source: "CLI 2.1.316 with the TypeScript SDK 0.3.332, whose servers come in initialize only",
    },
    QuirkDescription {
        name: "split-lines",
        summary: "every frame reaches the host in two writes",
        source: "pipes give no promise about the size of a read",
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
                "defer-ignored" => Ok(Quirk::DeferIgnored),
                "tool-deferred-unavailable" => Ok(Quirk::ToolDeferredUnavailable),
                "split-lines" => Ok(Quirk::SplitLines),
                other => Err(UnknownQuirk(other.to_owned())),
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(crate) fn has(&self, quirk: &Quirk) -> bool {
        self.0.contains(quirk)
    }

    pub(crate) fn pieces_of_line(&self, line: Vec<u8>) -> Vec<Vec<u8>> {
        if !self.has(&Quirk::SplitLines) {
            return vec![line];
        }
        let middle = line.len() / 2;
        vec![line[..middle].to_vec(), line[middle..].to_vec()]
    }
}

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
