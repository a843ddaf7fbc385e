//! Time from the spawn of a CLI to its answer to `initialize`, the fake one and the real one side by
//! side in one run, and their resident memory at that moment.
//!
//! The real one is measured when `CLAUDE_CLI_2_1_316` names its executable.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};

const INITIALIZE: &str =
    r#"{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}"#;

/// A CLI that has answered `initialize`.
struct Started {
    child: Child,
    elapsed: Duration,
    _home: tempfile::TempDir,
}

fn start(program: &Path) -> Started {
    let home = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(program);
    command
        .args([
            "--output-format",
            "stream-json",
            "--verbose",
            "--input-format",
            "stream-json",
        ])
        .args(["--permission-mode", "default", "--setting-sources="])
        .env_clear()
        .envs([
            ("ANTHROPIC_API_KEY", "dummy"),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1"),
            ("HTTPS_PROXY", "http://127.0.0.1:1"),
            ("NO_PROXY", "127.0.0.1,localhost"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("PATH", "/usr/bin:/bin"),
        ])
        .envs([("HOME", home.path()), ("CLAUDE_CONFIG_DIR", home.path())])
        .current_dir(home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let begin = Instant::now();
    let mut child = command.spawn().expect("the CLI starts");
    let stdin = child.stdin.as_mut().expect("a pipe");
    writeln!(stdin, "{INITIALIZE}").expect("the CLI reads");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let answered = lines
        .map_while(Result::ok)
        .any(|line| line.contains("control_response"));
    assert!(answered, "{} did not answer", program.display());
    Started {
        child,
        elapsed: begin.elapsed(),
        _home: home,
    }
}

impl Started {
    fn resident_kilobytes(&self) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap_or_default();
        line.trim_start_matches("VmRSS:").trim().to_owned()
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start_up(criterion: &mut Criterion) {
    let real = std::env::var_os("CLAUDE_CLI_2_1_316").map(|path| ("real", PathBuf::from(path)));
    let fake = ("fake", PathBuf::from(env!("CARGO_BIN_EXE_fake-claude")));
    let mut group = criterion.benchmark_group("spawn to initialize response");
    group.sample_size(20);
    for (name, program) in std::iter::once(fake).chain(real) {
        let started = start(&program);
        eprintln!("{name}: resident memory {}", started.resident_kilobytes());
        started.end();
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|iterations| {
                (0..iterations)
                    .map(|_| {
                        let started = start(&program);
                        let elapsed = started.elapsed;
                        started.end();
                        elapsed
                    })
                    .sum()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, start_up);
criterion_main!(benches);
