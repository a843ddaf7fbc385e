//! Building runners: once, again when an input changes, and never when it was only asked for.

mod fixture;

use std::fs;
use std::process::Command;

use fixture::{Fixture, ended};
use harness::installation::Installation;
use harness::runners::{BuildError, Builder, Manifest};

const MANIFEST: &str = "name: built
command: [\"${manifest_dir}/built.sh\"]
build:
  - [sh, -c, echo built >> builds]
  - [sh, -c, touch built.sh]
inputs: [input.txt]
";

struct Workplace {
    fixture: Fixture,
    installation: Installation,
}

impl Workplace {
    fn new() -> Self {
        let fixture = Fixture::new();
        fixture.write("built.yaml", MANIFEST);
        fixture.write("input.txt", "one");
        let installation = Installation::around(fixture.path().join("bin/harness"));
        Self {
            fixture,
            installation,
        }
    }

    fn manifest(&self) -> Manifest {
        let path = self.fixture.path().join("built.yaml");
        Manifest::load(&path.to_string_lossy(), &self.installation).expect("the manifest")
    }

    fn build(&self) -> Result<(), BuildError> {
        Builder::new(&self.installation).build(&[self.manifest()])
    }

    fn check(&self) -> Result<(), BuildError> {
        Builder::new(&self.installation).check(&[self.manifest()], &[])
    }

    fn builds(&self) -> usize {
        fs::read_to_string(self.fixture.path().join("builds"))
            .map_or(0, |text| text.lines().count())
    }
}

#[test]
fn a_runner_is_built_once() {
    let workplace = Workplace::new();
    assert!(
        matches!(workplace.check(), Err(BuildError::RunnerStale { name, .. }) if name == "built")
    );
    assert_eq!(workplace.builds(), 0);
    workplace.build().expect("a build");
    workplace.build().expect("nothing to do");
    workplace.check().expect("it is built");
    assert_eq!(workplace.builds(), 1);
}

#[test]
fn a_changed_input_builds_again() {
    let workplace = Workplace::new();
    workplace.build().expect("a build");
    workplace.fixture.write("input.txt", "two");
    assert!(matches!(
        workplace.check(),
        Err(BuildError::RunnerStale { .. })
    ));
    workplace.build().expect("a build");
    assert_eq!(workplace.builds(), 2);
}

#[test]
fn a_program_that_was_deleted_is_built_again() {
    let workplace = Workplace::new();
    workplace.build().expect("a build");
    fs::remove_file(workplace.fixture.path().join("built.sh")).expect("a deletion");
    workplace.build().expect("a build");
    assert_eq!(workplace.builds(), 2);
}

#[test]
fn a_build_that_fails_is_tried_again() {
    let workplace = Workplace::new();
    workplace
        .fixture
        .write("built.yaml", &MANIFEST.replace("touch built.sh", "exit 3"));
    for _ in 0..2 {
        let error = workplace.build().expect_err("a failure").to_string();
        assert!(
            error.contains("the runner `built`") && error.contains('3'),
            "{error}"
        );
    }
    assert_eq!(workplace.builds(), 2);
}

#[test]
fn two_builders_do_not_build_twice() {
    let workplace = Workplace::new();
    std::thread::scope(|scope| {
        let builders: Vec<_> = (0..4).map(|_| scope.spawn(|| workplace.build())).collect();
        for builder in builders {
            builder.join().expect("no panic").expect("a build");
        }
    });
    assert_eq!(workplace.builds(), 1);
}

#[test]
fn a_runner_that_is_not_built_is_answered_with_the_command_that_builds_it() {
    let fixture = Fixture::new();
    fixture.write(
        "unbuilt.yaml",
        "name: unbuilt\ncommand: [sh]\nbuild: [[\"true\"]]\n",
    );
    let ended = ended(fixture.run("unbuilt", &[]));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("cargo run -p harness -- build --runner ./unbuilt.yaml`"),
        "{ended:?}"
    );
}

#[test]
fn what_is_built_is_announced() {
    let fixture = Fixture::new();
    let lonely = fixture.path().join("harness");
    std::fs::copy(env!("CARGO_BIN_EXE_harness"), &lonely).expect("a copy");
    fixture.write(
        "built.yaml",
        "name: built\ncommand: [sh]\nbuild: [[\"true\"]]\n",
    );
    let mut command = Command::new(&lonely);
    command
        .args(["build", "--runner", "./built.yaml"])
        .current_dir(fixture.path());
    let ended = ended(command);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stderr.starts_with("building the runner `built`\n"),
        "{ended:?}"
    );
}

#[test]
fn a_missing_cli_is_told_before_anything_is_built() {
    let fixture = Fixture::new();
    fixture.write(
        "built.yaml",
        "name: built\ncommand: [sh]\nbuild: [[touch, built]]\n",
    );
    let ended = ended(fixture.harness(&[
        "run",
        "--scenarios",
        "scenarios",
        "--runner",
        "./built.yaml",
        "--cli",
        "9.9.9",
    ]));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("cli install 9.9.9"), "{ended:?}");
    assert!(!ended.stderr.contains("building"), "{ended:?}");
    assert!(!fixture.path().join("built").exists());
}
