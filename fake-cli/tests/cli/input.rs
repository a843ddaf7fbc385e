//! What may come over stdin, and what ends the process.

use tokio::io::AsyncWriteExt;

use super::api::Api;
use super::host::Place;

const STREAM: [&str; 5] = [
    "--output-format",
    "stream-json",
    "--verbose",
    "--input-format",
    "stream-json",
];

async fn feed(bytes: &[u8], arguments: &[&str]) -> (String, Option<i32>) {
    let api = Api::replying([]).await;
    let place = Place::new(&api);
    let mut command = place.command();
    let mut child = command.args(STREAM).args(arguments).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The process may be gone before it has read everything.
    let _ = stdin.write_all(bytes).await;
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    (
        String::from_utf8(output.stderr).unwrap(),
        output.status.code(),
    )
}

#[tokio::test]
async fn a_line_that_is_no_json_ends_the_process() {
    let (stderr, code) = feed(b"this is not json\n", &[]).await;
    assert_eq!(
        stderr,
        "Error parsing streaming input line (type=unknown, 16 chars): SyntaxError\n"
    );
    assert_eq!(code, Some(1));
}

#[tokio::test]
async fn what_is_not_known_is_ignored() {
    let lines = b"\n{\"type\":\"bogus\"}\n{\"type\":\"control_response\",\"response\":{}}\n";
    assert_eq!(feed(lines, &[]).await, (String::new(), Some(0)));
}

#[tokio::test]
async fn the_first_line_must_be_initialize_if_it_is_awaited() {
    let line = b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n";
    let (stderr, code) = feed(line, &["--await-initialize"]).await;
    assert!(
        stderr.starts_with("Error: --await-initialize requires the initialize control request")
    );
    assert_eq!(code, Some(1));
}
