//! The official SDKs drive `fake-claude` through their public doors, and the real CLI with the same programs, so that what
//! they assert is the real one's behaviour.
//!
//! Ignored unless asked for, since they need SDKs that Cargo does not install: `ci/official-clients/install` does, and prints
//! the variables that say where they are. `CLAUDE_CLI_2_1_316` names the real CLI. Then
//! `cargo nextest run -p harness --test sdks --run-ignored only`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use harness::installation::Installation;
use mock_messages_api::{MockMessagesApi, Script};
use serde_json::Value;
use tokio::process::Command;

const SCRIPTS: &str = include_str!("scripts.yaml");
const API_KEY: &str = "sk-ant-dummy-key-of-a-test";

/// How long a program may take on a loaded machine.
const BOUND: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy)]
enum Sdk {
    Python,
    TypeScript,
}

#[derive(Debug, Clone, Copy)]
enum Cli {
    Fake,
    /// With one of the quirks of `fake-claude quirks`.
    FakeWith(&'static str),
    Real,
}

fn variable(name: &str) -> OsString {
    std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set, see the top of this file"))
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdks")
}

impl Sdk {
    fn program(self) -> Command {
        match self {
            Self::Python => {
                let mut command = Command::new(variable("OFFICIAL_CLIENTS_PYTHON"));
                command.arg(directory().join("sdk.py"));
                command
            }
            Self::TypeScript => {
                let mut command = Command::new("node");
                command
                    .arg(directory().join("sdk.mjs"))
                    .env("OFFICIAL_CLIENTS_NODE", variable("OFFICIAL_CLIENTS_NODE"));
                command
            }
        }
    }
}

impl Cli {
    fn executable(self) -> PathBuf {
        match self {
            Self::Fake | Self::FakeWith(_) => {
                Installation::around(env!("CARGO_BIN_EXE_harness").into()).binary("fake-claude")
            }
            Self::Real => variable("CLAUDE_CLI_2_1_316").into(),
        }
    }
}

fn script(case: &str) -> Script {
    let scripts: BTreeMap<String, Value> =
        serde_saphyr::from_str(SCRIPTS).expect("the scripts are YAML");
    let script = scripts
        .get(case)
        .expect("the case has a script")
        .to_string();
    Script::from_yaml(&script).expect("the script can be read")
}

async fn run(sdk: Sdk, case: &str, cli: Cli) -> Output {
    let api = MockMessagesApi::builder()
        .api_key(API_KEY)
        .start()
        .await
        .expect("the API starts");
    api.mount("case", script(case));
    let place = tempfile::tempdir().expect("a directory");
    for part in ["home", "config", "work", "tmp"] {
        std::fs::create_dir(place.path().join(part)).expect("a directory");
    }
    let mut program = sdk.program();
    program
        .arg(case)
        .current_dir(place.path().join("work"))
        .env("CLI", cli.executable())
        .env("ANTHROPIC_BASE_URL", api.base_url("case", "sdk"))
        .env("ANTHROPIC_API_KEY", API_KEY)
        .env("HOME", place.path().join("home"))
        .env("CLAUDE_CONFIG_DIR", place.path().join("config"))
        .env("TMPDIR", place.path().join("tmp"))
        .env("NO_PROXY", "127.0.0.1,localhost")
        .env("HTTPS_PROXY", "http://127.0.0.1:1")
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("CLAUDE_CODE_MAX_RETRIES", "0")
        .kill_on_drop(true);
    if let Cli::FakeWith(quirk) = cli {
        program.env("FAKE_CLAUDE_QUIRKS", quirk);
    }
    tokio::time::timeout(BOUND, program.output())
        .await
        .expect("the program ends")
        .expect("the program starts")
}

async fn passes(sdk: Sdk, case: &str, cli: Cli) {
    let output = run(sdk, case, cli).await;
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The case notices that the CLI misbehaves.
async fn fails(sdk: Sdk, case: &str, quirk: &'static str) {
    let output = run(sdk, case, Cli::FakeWith(quirk)).await;
    assert!(!output.status.success(), "{case} passes with {quirk}");
}

macro_rules! cases {
    ($($case:ident)*) => {
        mod python_on_the_fake { cases!(@ $($case)*; Python Fake); }
        mod python_on_the_real { cases!(@ $($case)*; Python Real); }
        mod typescript_on_the_fake { cases!(@ $($case)*; TypeScript Fake); }
        mod typescript_on_the_real { cases!(@ $($case)*; TypeScript Real); }
    };
    (@ $($case:ident)*; $sdk:ident $cli:ident) => {
        $(
            #[tokio::test]
            #[ignore = "needs the official SDKs, see the top of the file"]
            async fn $case() {
                super::passes(super::Sdk::$sdk, stringify!($case), super::Cli::$cli).await;
            }
        )*
    };
}

cases! {
    query client tool hooks permissions deferral store fork partial interrupt controls limits errors
}

mod misbehaviour_is_noticed {
    use super::{Sdk, fails};

    #[tokio::test]
    #[ignore = "needs the official SDKs, see the top of the file"]
    async fn by_python() {
        fails(Sdk::Python, "deferral", "defer-ignored").await;
        fails(Sdk::Python, "deferral", "resume-skips-hook").await;
        fails(Sdk::Python, "store", "mirror-loss").await;
        fails(Sdk::Python, "deferral", "tool-deferred-unavailable").await;
        fails(Sdk::Python, "query", "nonzero-exit-after-success").await;
    }

    #[tokio::test]
    #[ignore = "needs the official SDKs, see the top of the file"]
    async fn by_typescript() {
        fails(Sdk::TypeScript, "deferral", "defer-ignored").await;
        fails(Sdk::TypeScript, "store", "mirror-loss").await;
        fails(Sdk::TypeScript, "query", "nonzero-exit-after-success").await;
    }
}
