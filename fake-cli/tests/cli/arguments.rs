//! The command line as a person sees it.

use super::api::Api;
use super::host::{Place, Run};

async fn output(arguments: &[&str]) -> (String, String, Option<i32>) {
    let api = Api::replying([]).await;
    let output = Place::new(&api)
        .command()
        .args(arguments)
        .output()
        .await
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        text(output.stdout),
        text(output.stderr),
        output.status.code(),
    )
}

#[tokio::test]
async fn the_imitated_version_is_printed() {
    for flag in ["-v", "--version"] {
        let (stdout, _, code) = output(&[flag]).await;
        assert_eq!(
            (stdout.as_str(), code),
            ("2.1.316 (Claude Code)\n", Some(0))
        );
    }
    let (stdout, _, _) = output(&["--imitate", "2.1.300", "-v"]).await;
    assert_eq!(stdout, "2.1.300 (Claude Code)\n");
}

#[tokio::test]
async fn an_unknown_option_is_refused() {
    let (stdout, stderr, code) = output(&["--no-such-flag"]).await;
    assert_eq!(stdout, "");
    assert_eq!(stderr, "error: unknown option '--no-such-flag'\n");
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn quirks_are_listed_and_unknown_ones_refused() {
    let (stdout, _, code) = output(&["quirks"]).await;
    assert!(stdout.contains("resume-skips-hook"));
    assert_eq!(code, Some(0));
    let (_, stderr, code) = output(&["--quirk", "no-such-quirk"]).await;
    assert!(stderr.contains("unknown quirk 'no-such-quirk'"));
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn an_unknown_session_is_a_result_and_an_error() {
    let api = Api::replying([]).await;
    let id = uuid::Uuid::new_v4().to_string();
    let outcome = Place::new(&api)
        .run(Run::new().with(&["--resume", &id]))
        .await;
    let words = format!("No conversation found with session ID: {id}");
    assert_eq!(outcome.result()["subtype"], "error_during_execution");
    assert_eq!(outcome.result()["errors"][0], words);
    assert_eq!(outcome.stderr.trim_end(), words);
    assert_eq!(outcome.code, 1);
}
