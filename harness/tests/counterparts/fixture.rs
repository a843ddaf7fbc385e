//! Runs one scenario on something broken, through the whole harness, and reads what turned red.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Something broken.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Broken {
    /// The Rust adapter with a named fault (`rust-runner --sabotage`).
    Adapter(&'static str),
    /// The fake CLI with a named quirk.
    Cli(&'static str),
    /// The scenario: a text that stands in it, and what it is replaced by.
    Scenario(&'static str, &'static str),
}

/// One counterpart: what is broken, on which scenario, and exactly which checks it turns red.
#[derive(Debug)]
pub(crate) struct Counterpart {
    pub(crate) scenario: &'static str,
    pub(crate) broken: Broken,
    pub(crate) red: &'static [&'static str],
}

impl Counterpart {
    /// The checks that are red when the scenario runs on what is broken.
    pub(crate) fn observed(&self) -> BTreeSet<String> {
        let cell = self.report()["cells"][0].clone();
        let checks = cell["checks"].as_array().expect("checks");
        assert!(!checks.is_empty(), "no check was made: {cell:#}");
        checks
            .iter()
            .filter(|check| check["outcome"] == "failed")
            .map(|check| check["id"].as_str().expect("an id").to_owned())
            .collect()
    }

    /// What the harness prints for a person, and its exit code.
    pub(crate) fn printed(&self) -> (String, Option<i32>) {
        let output = self.run("terminal");
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            output.status.code(),
        )
    }

    fn report(&self) -> Value {
        let output = self.run("json");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    fn run(&self, format: &str) -> Output {
        let directory = tempfile::tempdir().expect("a directory");
        let scenarios = directory.path().join("scenarios");
        std::fs::create_dir_all(scenarios.join("broken")).expect("a directory");
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/requirements.yaml");
        std::fs::copy(own, scenarios.join("requirements.yaml")).expect("the requirements");
        std::fs::write(scenarios.join("broken/scenario.yaml"), self.text()).expect("the scenario");
        let manifest = directory.path().join("broken.yaml");
        std::fs::write(&manifest, self.manifest()).expect("the manifest");
        Command::new(env!("CARGO_BIN_EXE_harness"))
            .args([
                "run",
                "--no-build",
                "--format",
                format,
                "--timeout-scale",
                "0.5",
            ])
            .arg("--scenarios")
            .arg(&scenarios)
            .arg("--runner")
            .arg(&manifest)
            .arg("--evidence")
            .arg(directory.path().join("evidence"))
            .output()
            .expect("the harness runs")
    }

    fn text(&self) -> String {
        let text = std::fs::read_to_string(self.path()).expect("the scenario");
        match self.broken {
            Broken::Adapter(_) => text,
            Broken::Cli(quirk) => {
                let options =
                    format!("agent:\n  options: {{env: {{FAKE_CLAUDE_QUIRKS: {quirk}}}}}\n");
                replaced(&text, "agent:\n", &options)
            }
            Broken::Scenario(right, wrong) => replaced(&text, right, wrong),
        }
    }

    fn path(&self) -> PathBuf {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let own = package.join(format!(
            "tests/counterparts/scenarios/{}.yaml",
            self.scenario
        ));
        if own.exists() {
            own
        } else {
            package.join(format!("../scenarios/{}.yaml", self.scenario))
        }
    }

    fn manifest(&self) -> String {
        let sabotage = match self.broken {
            Broken::Adapter(fault) => format!(", --sabotage, {fault}"),
            Broken::Cli(_) | Broken::Scenario(..) => String::new(),
        };
        format!("name: broken\ncommand: [rust-runner{sabotage}]\n")
    }
}

/// Replaces a text that must be there, so that a counterpart cannot lose its fault unnoticed.
fn replaced(text: &str, right: &str, wrong: &str) -> String {
    assert!(text.contains(right), "the scenario does not hold {right:?}");
    text.replacen(right, wrong, 1)
}
