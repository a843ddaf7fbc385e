//! The permission matrix, as a pure function.

use serde_json::{Map, Value, json};

use super::{PermissionMode, Rules, texts};
use crate::hooks::Verdict;

/// What a tool call would need if neither hook nor rule says anything.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Allowance {
    /// Runs in every mode: read-only shell commands, reads inside the working directories.
    Free,
    /// Reads outside the working directories: free while planning only.
    FreeWhilePlanning(AskReason),
    /// Runs in `acceptEdits`, else needs an answer: edits inside the working directories.
    Edit(AskReason),
    /// Needs an answer.
    Ask(AskReason),
}

/// How the program explains that it has to ask.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct AskReason {
    /// The denial when nobody can be asked; the generic one if absent.
    pub(crate) text: Option<String>,
    /// The denial in plan mode; the generic one if absent.
    pub(crate) plan_text: Option<String>,
    /// Members of the `can_use_tool` request besides the common ones.
    pub(crate) request: Map<String, Value>,
}

/// The call that is decided on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) tool: &'a str,
    pub(crate) input: &'a Value,
    /// Whether the tool belongs to an MCP server.
    pub(crate) mcp: bool,
    pub(crate) allowance: &'a Allowance,
    /// The reason that is given when the call needs no permission.
    pub(crate) free_reason: &'static str,
}

/// Who or what refused a call: decides the members of the result frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DenialKind {
    Hook,
    Mode,
    Rule,
    NobodyToAsk,
    /// The host refused what a hook wanted it to be asked.
    HostForHook,
    /// A hook wanted the user to be asked, and there is nobody.
    HookAsked,
    HookTimeout,
    NotNow,
    Host,
    HostError,
    HostInterrupt,
    /// As [`Self::HostInterrupt`], where a hook wanted the host to be asked.
    HostInterruptForHook,
    /// The path is none of the session's, and there is nobody to ask.
    OutsideWorkingDirectory,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) text: String,
    pub(crate) kind: DenialKind,
}

/// What happens to a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    Run {
        /// Members of `permission_decision` in the result frame.
        permission: Value,
    },
    /// The host is asked with `can_use_tool`.
    Ask {
        request: Map<String, Value>,
    },
    Defer,
    Deny(Denial),
}

/// Decides a call from its hooks' verdict, the rules and the mode (observed on CLI 2.1.316).
pub(crate) fn decide(
    mode: PermissionMode,
    verdict: &Verdict,
    rules: &Rules,
    host_can_be_asked: bool,
    subject: Subject<'_>,
) -> Outcome {
    let deny = |text: String, kind| Outcome::Deny(Denial { text, kind });
    let tool = subject.tool;
    match verdict {
        Verdict::Deny { reason } => {
            return deny(
                texts::hook_denied(tool, reason.as_deref()),
                DenialKind::Hook,
            );
        }
        Verdict::TimedOut => {
            return deny(texts::HOOK_TIMED_OUT.to_owned(), DenialKind::HookTimeout);
        }
        Verdict::InputClosed => return deny(texts::NOT_NOW.to_owned(), DenialKind::NotNow),
        Verdict::Defer => return Outcome::Defer,
        Verdict::None | Verdict::Allow { .. } | Verdict::Ask { .. } => {}
    }
    if rules.denies(tool, subject.input) {
        return deny(texts::denied_by_rule(tool), DenialKind::Rule);
    }
    if let Verdict::Ask { reason } = verdict {
        let reason = reason.clone().unwrap_or_default();
        if host_can_be_asked {
            return Outcome::Ask {
                request: hook_asked(&reason),
            };
        }
        return deny(reason, DenialKind::HookAsked);
    }
    if mode == PermissionMode::Plan {
        match subject.allowance {
            Allowance::Free => {}
            Allowance::FreeWhilePlanning(_) => {
                return Outcome::Run {
                    permission: json!({
                        "decision": "accept",
                        "source": "config",
                        "reason_type": "mode",
                    }),
                };
            }
            Allowance::Edit(reason) | Allowance::Ask(reason) => {
                return refuse_while_planning(host_can_be_asked, subject, reason);
            }
        }
    }
    if let Verdict::Allow { .. } = verdict {
        return Outcome::Run {
            permission: json!({"decision": "accept", "source": "hook", "reason_type": "hook"}),
        };
    }
    undecided(mode, rules, host_can_be_asked, subject)
}

fn undecided(
    mode: PermissionMode,
    rules: &Rules,
    host_can_be_asked: bool,
    subject: Subject<'_>,
) -> Outcome {
    let accept = |reason: &str| Outcome::Run {
        permission: json!({"decision": "accept", "source": "config", "reason_type": reason}),
    };
    if mode == PermissionMode::BypassPermissions {
        return accept("mode");
    }
    if let Some(origin) = rules.allowed_by(subject.tool, subject.input) {
        return Outcome::Run {
            permission: json!({
                "decision": "accept",
                "source": origin.source(),
                "reason_type": "rule",
            }),
        };
    }
    let reason = match subject.allowance {
        Allowance::Free => return accept(subject.free_reason),
        Allowance::Edit(_) if mode == PermissionMode::AcceptEdits => {
            return accept(subject.free_reason);
        }
        Allowance::Edit(reason) | Allowance::Ask(reason) | Allowance::FreeWhilePlanning(reason) => {
            reason
        }
    };
    if mode == PermissionMode::DontAsk {
        return Outcome::Deny(Denial {
            text: texts::dont_ask(subject.tool),
            kind: DenialKind::Mode,
        });
    }
    if host_can_be_asked {
        return Outcome::Ask {
            request: own_question(subject, reason),
        };
    }
    let text = reason.text.clone();
    let outside = reason.request.get("decision_reason_type") == Some(&json!("workingDir"));
    Outcome::Deny(Denial {
        text: text.unwrap_or_else(|| texts::not_granted(subject.tool)),
        kind: if outside {
            DenialKind::OutsideWorkingDirectory
        } else {
            DenialKind::NobodyToAsk
        },
    })
}

/// In plan mode a hook's allow is not enough.
fn refuse_while_planning(
    host_can_be_asked: bool,
    subject: Subject<'_>,
    reason: &AskReason,
) -> Outcome {
    if host_can_be_asked {
        let mut request = own_question(subject, reason);
        request.insert("decision_reason_type".to_owned(), json!("mode"));
        return Outcome::Ask { request };
    }
    let text = reason.plan_text.clone();
    Outcome::Deny(Denial {
        text: text.unwrap_or_else(|| texts::plan_mode(subject.tool)),
        kind: if reason.plan_text.is_some() {
            DenialKind::NobodyToAsk
        } else {
            DenialKind::Mode
        },
    })
}

fn hook_asked(reason: &str) -> Map<String, Value> {
    let members = json!({
        "decision_reason": reason,
        "decision_reason_type": "hook",
        "decision_reason_hook_event": "PreToolUse",
        "decision_reason_hook_source": "settings",
    });
    members.as_object().cloned().unwrap_or_default()
}

fn own_question(subject: Subject<'_>, reason: &AskReason) -> Map<String, Value> {
    let mut request = Map::new();
    if subject.mcp {
        request.insert(
            "permission_suggestions".to_owned(),
            json!([{
                "type": "addRules",
                "rules": [{"toolName": subject.tool}],
                "behavior": "allow",
                "destination": "localSettings",
            }]),
        );
        request.insert("server_policy_ask_only".to_owned(), json!(true));
    }
    request.extend(reason.request.clone());
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: &str = "mcp__tools__create_refund";

    fn outcome(mode: PermissionMode, verdict: &Verdict, asking: bool) -> String {
        let allowance = Allowance::Ask(AskReason::default());
        let subject = Subject {
            tool: TOOL,
            input: &json!({}),
            mcp: true,
            allowance: &allowance,
            free_reason: "mode",
        };
        match decide(mode, verdict, &Rules::default(), asking, subject) {
            Outcome::Run { .. } => "run".to_owned(),
            Outcome::Ask { .. } => "ask".to_owned(),
            Outcome::Defer => "defer".to_owned(),
            Outcome::Deny(denial) => denial.text,
        }
    }

    /// The observed matrix for a tool of an MCP server, row by row: what hook, without and with
    /// somebody to ask.
    #[test]
    fn the_matrix_of_an_mcp_tool() {
        use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};
        let granted = texts::not_granted(TOOL);
        let dont_ask = texts::dont_ask(TOOL);
        let plan = texts::plan_mode(TOOL);
        let because = Some("because".to_owned());
        for (mode, allow, allow_asking, none, none_asking) in [
            (Default, "run", "run", granted.as_str(), "ask"),
            (AcceptEdits, "run", "run", granted.as_str(), "ask"),
            (DontAsk, "run", "run", dont_ask.as_str(), dont_ask.as_str()),
            (Plan, plan.as_str(), "ask", plan.as_str(), "ask"),
            (BypassPermissions, "run", "run", "run", "run"),
        ] {
            for asking in [false, true] {
                assert_eq!(outcome(mode, &Verdict::Defer, asking), "defer");
                let reason = because.clone();
                assert_eq!(
                    outcome(mode, &Verdict::Deny { reason }, asking),
                    format!("PreToolUse:{TOOL} hook error: because")
                );
                let reason = because.clone();
                let expected = if asking { "ask" } else { "because" };
                assert_eq!(outcome(mode, &Verdict::Ask { reason }, asking), expected);
            }
            let verdict = Verdict::Allow { reason: None };
            assert_eq!(outcome(mode, &verdict, false), allow, "{mode:?}");
            assert_eq!(outcome(mode, &verdict, true), allow_asking, "{mode:?}");
            assert_eq!(outcome(mode, &Verdict::None, false), none, "{mode:?}");
            assert_eq!(outcome(mode, &Verdict::None, true), none_asking, "{mode:?}");
        }
    }
}
