//! The program while it runs.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use reqwest::{Client, Method};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

pub(crate) struct Running {
    child: Child,
    base_url: String,
    client: Client,
}

impl Running {
    pub(crate) fn start(arguments: &[&OsStr]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mock-messages-api"))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        Self {
            child,
            base_url: line.trim().to_owned(),
            client: Client::builder().no_proxy().build().unwrap(),
        }
    }

    pub(crate) async fn ask(&self, prefix: &str, text: &str) -> (u16, Value) {
        let response = self
            .client
            .post(format!("{}{prefix}/v1/messages", self.base_url))
            .header("anthropic-version", "2023-06-01")
            .header("x-api-key", "dummy")
            .json(&json!({
                "model": "claude-sonnet-5",
                "max_tokens": 100,
                "messages": [{"role": "user", "content": text}],
            }))
            .send()
            .await
            .unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    pub(crate) async fn control(
        &self,
        method: Method,
        path: &str,
        body: &'static str,
    ) -> (u16, Value) {
        let response = self
            .client
            .request(method, format!("{}/__mock/{path}", self.base_url))
            .body(body)
            .send()
            .await
            .unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Ends the program in good order, and answers its exit code.
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already where the test has waited for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
