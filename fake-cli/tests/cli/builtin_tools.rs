//! The built-in tools, which really run.

use serde_json::{Value, json};

use super::api::{Api, call, says, text};
use super::host::{Outcome, Place, Run};

async fn use_tool(
    name: &str,
    input: impl Fn(&Place) -> Value,
    prepare: impl Fn(&Place),
) -> (Outcome, Place) {
    let probe = Api::replying([]).await;
    let place = Place::new(&probe);
    prepare(&place);
    let api = Api::replying([
        says(&[call("toolu_01", name, &input(&place))]),
        says(&[text("Done.")]),
    ])
    .await;
    let run = Run::prompt("go")
        .environment("ANTHROPIC_BASE_URL", &api.base_url())
        .deciding("allow");
    (place.run(run).await, place)
}

async fn shell(command: &str) -> Outcome {
    let input = json!({"command": command});
    use_tool("Bash", |_| input.clone(), |_| ()).await.0
}

#[tokio::test]
async fn a_command_shows_what_it_wrote() {
    let outcome = shell("echo hi; echo err >&2").await;
    assert_eq!(outcome.tool_result_text(), "hi\nerr");
    assert_eq!(outcome.tool_results()[0]["is_error"], false);
    assert_eq!(
        shell("true").await.tool_result_text(),
        "(Bash completed with no output)"
    );
    let failed = shell("echo out; exit 3").await;
    assert_eq!(failed.tool_result_text(), "Exit code 3\nout");
    assert_eq!(failed.tool_results()[0]["is_error"], true);
}

#[tokio::test]
async fn a_command_that_moves_away_is_brought_back() {
    let outcome = shell("cd /; pwd").await;
    assert!(
        outcome
            .tool_result_text()
            .starts_with("/\nShell cwd was reset to /")
    );
}

#[tokio::test]
async fn a_file_is_read_with_line_numbers() {
    let (outcome, _) = use_tool(
        "Read",
        |place| json!({"file_path": place.work().join("a.txt")}),
        |place| std::fs::write(place.work().join("a.txt"), "one\ntwo\n").unwrap(),
    )
    .await;
    assert_eq!(outcome.tool_result_text(), "1\tone\n2\ttwo\n3\t");
}

#[tokio::test]
async fn a_file_is_written_and_edited() {
    let (outcome, place) = use_tool(
        "Write",
        |place| json!({"file_path": place.work().join("new.txt"), "content": "fresh"}),
        |_| (),
    )
    .await;
    assert!(
        outcome
            .tool_result_text()
            .starts_with("File created successfully at: ")
    );
    assert_eq!(
        std::fs::read_to_string(place.work().join("new.txt")).unwrap(),
        "fresh"
    );
    let (outcome, place) = use_tool(
        "Edit",
        |place| {
            json!({"file_path": place.work().join("a.txt"), "old_string": "one", "new_string": "ONE"})
        },
        |place| std::fs::write(place.work().join("a.txt"), "one\ntwo\n").unwrap(),
    )
    .await;
    assert!(
        outcome
            .tool_result_text()
            .ends_with("has been updated successfully.")
    );
    assert_eq!(
        std::fs::read_to_string(place.work().join("a.txt")).unwrap(),
        "ONE\ntwo\n"
    );
    let hook = outcome.asked("hook_callback")[0];
    assert_eq!(hook["input"]["tool_input"]["replace_all"], false);
}

#[tokio::test]
async fn a_wrong_input_reaches_no_hook() {
    let (outcome, _) = use_tool("Read", |_| json!({"nope": 1}), |_| ()).await;
    assert_eq!(
        outcome.tool_result_text(),
        "<tool_use_error>InputValidationError: Read failed due to the following issues:\nThe \
         required parameter `file_path` is missing\nAn unexpected parameter `nope` was \
         provided</tool_use_error>"
    );
    assert!(outcome.asked("hook_callback").is_empty());
}

#[tokio::test]
async fn files_are_found_by_name_and_content() {
    let prepare = |place: &Place| {
        std::fs::create_dir(place.work().join("src")).unwrap();
        std::fs::write(place.work().join("src/a.rs"), "fn needle() {}\n").unwrap();
        std::fs::write(place.work().join("b.txt"), "nothing\n").unwrap();
    };
    let (outcome, _) = use_tool("Glob", |_| json!({"pattern": "**/*.rs"}), prepare).await;
    let found = "src/a.rs";
    assert_eq!(outcome.tool_result_text(), found);
    let (outcome, _) = use_tool("Grep", |_| json!({"pattern": "need.e"}), prepare).await;
    assert_eq!(outcome.tool_result_text(), "Found 1 file\nsrc/a.rs");
}
