//! Permission modes and their two spellings.

/// What decides a tool call when neither a hook nor a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum PermissionMode {
    #[default]
    Default,
    AcceptEdits,
    Plan,
    DontAsk,
    BypassPermissions,
    Auto,
}

impl PermissionMode {
    /// The tail of the error for a bad `--permission-mode` (observed on CLI 2.1.316).
    pub(crate) const ALLOWED_ARGUMENTS: &'static str = "Allowed choices are acceptEdits, auto, \
        bypassPermissions, manual, dontAsk, plan.";

    /// Reads the command line's spelling, which also knows `manual`.
    pub(crate) fn from_argument(value: &str) -> Option<Self> {
        match value {
            "manual" => Some(Self::Default),
            other => Self::from_wire(other),
        }
    }

    /// Reads the control protocol's spelling.
    pub(crate) fn from_wire(value: &str) -> Option<Self> {
        Some(match value {
            "default" => Self::Default,
            "acceptEdits" => Self::AcceptEdits,
            "plan" => Self::Plan,
            "dontAsk" => Self::DontAsk,
            "bypassPermissions" => Self::BypassPermissions,
            "auto" => Self::Auto,
            _ => return None,
        })
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::DontAsk => "dontAsk",
            Self::BypassPermissions => "bypassPermissions",
            Self::Auto => "auto",
        }
    }
}
