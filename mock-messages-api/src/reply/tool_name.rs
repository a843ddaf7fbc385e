//! From the tool name of a script to the one of a request.

use crate::request::tool_is_called;

/// The name to send for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResolvedTool<'a> {
    /// A tool that the request offers.
    Offered(&'a str),
    /// No tool of the request has the name; it is sent as written.
    AsWritten(&'a str),
    /// Several tools of the request have the name; it is sent as written.
    Ambiguous(Vec<&'a str>),
}

impl<'a> ResolvedTool<'a> {
    pub(crate) fn name(&self, written: &'a str) -> &'a str {
        match self {
            Self::Offered(name) | Self::AsWritten(name) => name,
            Self::Ambiguous(_) => written,
        }
    }
}

pub(crate) fn resolve_tool<'a>(
    called: &'a str,
    offered: impl Iterator<Item = &'a str>,
) -> ResolvedTool<'a> {
    let matching: Vec<_> = offered
        .filter(|name| tool_is_called(name, called))
        .collect();
    if matching.contains(&called) {
        return ResolvedTool::Offered(called);
    }
    match matching[..] {
        [] => ResolvedTool::AsWritten(called),
        [name] => ResolvedTool::Offered(name),
        _ => ResolvedTool::Ambiguous(matching),
    }
}
