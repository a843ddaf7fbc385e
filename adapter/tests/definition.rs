//! Agents that cannot be built as they are described.

use adapter::{
    AgentError, CLAUDE_CODE_BUILT_IN_TOOL_NAMES, ClaudeAgent, ClaudeAgentOptions, OptionsContext,
    Tool, ToolError, ToolOutput,
};

fn built_with(names: &[&str]) -> Result<ClaudeAgent, AgentError> {
    let builder = ClaudeAgent::builder(|_: OptionsContext| Ok(ClaudeAgentOptions::default()));
    let described = names.iter().fold(builder, |builder, name| {
        builder.tool(Tool::typed(*name, *name, |_: Vec<String>| async {
            Ok::<_, ToolError>(ToolOutput::default())
        }))
    });
    described.build()
}

// covers: tool-unique-names
#[test]
fn two_tools_of_one_name_are_refused() {
    let refused = built_with(&["create_refund", "look_up", "create_refund"]);
    assert_eq!(
        refused.err(),
        Some(AgentError::DuplicateTool("create_refund".into()))
    );
    assert!(built_with(&["create_refund", "look_up"]).is_ok());
}

// covers: tool-no-builtin-name, tool-builtin-list
#[test]
fn names_of_the_clis_own_tools_are_refused() {
    for name in CLAUDE_CODE_BUILT_IN_TOOL_NAMES {
        let refused = built_with(&[name]);
        assert_eq!(
            refused.err(),
            Some(AgentError::ReservedName((*name).to_owned()))
        );
    }
    for name in [
        "Bash", "Edit", "Glob", "Grep", "Read", "Task", "WebFetch", "Write",
    ] {
        assert!(CLAUDE_CODE_BUILT_IN_TOOL_NAMES.contains(&name), "{name}");
    }
}
