//! What happens on the TCP connection itself.

use std::io::ErrorKind;

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::fixture::{Fixture, request, user};

async fn connect(fixture: &Fixture) -> TcpStream {
    TcpStream::connect(fixture.api.address()).await.unwrap()
}

async fn post(connection: &mut TcpStream, text: &str, stream: bool) {
    let mut body = request(json!([user(text)]));
    body["stream"] = json!(stream);
    let body = body.to_string();
    let head = format!(
        "POST /cell/raw/v1/messages HTTP/1.1\r\nhost: mock\r\nx-api-key: dummy\r\n\
         anthropic-version: 2023-06-01\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection
        .write_all((head + &body).as_bytes())
        .await
        .unwrap();
}

/// Reads until the text is there.
async fn read_until(connection: &mut TcpStream, end: &str) -> String {
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(end) {
        let length = connection.read_buf(&mut seen).await.unwrap();
        assert_ne!(length, 0, "{:?} comes", end);
    }
    String::from_utf8(seen).unwrap()
}

#[tokio::test]
async fn keeps_the_connection_alive() {
    let fixture = Fixture::new("[{user: hello, reply: [{text: Hello.}]}]").await;
    let mut connection = connect(&fixture).await;
    for stream in [true, false, true] {
        post(&mut connection, "hello", stream).await;
        let end = if stream {
            "\r\n0\r\n\r\n"
        } else {
            "\"service_tier\":\"standard\"}}"
        };
        let seen = read_until(&mut connection, end).await;
        assert!(seen.starts_with("HTTP/1.1 200"), "{seen}");
    }
}

#[tokio::test]
async fn tells_a_reset_from_a_close() {
    for (action, expected) in [
        ("reset", Err(ErrorKind::ConnectionReset)),
        ("close", Ok(())),
    ] {
        for after in ["request", "headers", "{events: 2}", "{bytes: 30}"] {
            let fixture = Fixture::new(&format!(
                "[{{user: hello, reply: {{content: [], fault: {{after: {after}, then: {action}}}}}}}]"
            ))
            .await;
            let mut connection = connect(&fixture).await;
            post(&mut connection, "hello", true).await;
            let mut seen = Vec::new();
            let ended = connection.read_to_end(&mut seen).await;
            assert_eq!(
                ended.map(drop).map_err(|error| error.kind()),
                expected,
                "{action} after {after}"
            );
            assert!(!seen.ends_with(b"\r\n0\r\n\r\n"));
            assert_eq!(
                seen.is_empty(),
                after == "request",
                "{action} after {after}"
            );
        }
    }
}

#[tokio::test]
async fn closes_its_connections_when_it_stops() {
    let fixture = Fixture::new(
        "[{user: hello, reply: {content: [], fault: {after: {events: 1}, then: stall}}}]",
    )
    .await;
    let mut connection = connect(&fixture).await;
    post(&mut connection, "hello", true).await;
    read_until(&mut connection, "message_start").await;
    fixture.api.stop().await;
    let mut rest = Vec::new();
    // However the connection goes, it goes.
    let _ = connection.read_to_end(&mut rest).await;
    assert!(!String::from_utf8_lossy(&rest).contains("message_stop"));
}
