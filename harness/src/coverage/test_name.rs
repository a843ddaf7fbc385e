//! The name that nextest gives a test.

use std::fmt;
use std::path::{Component, Path};

/// A test: the id of its binary, and its path of modules in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestName {
    /// `package`, `package::integration_test` or `package::bin/name`.
    pub binary: String,
    /// `module::submodule::function`.
    pub path: String,
}

impl fmt::Display for TestName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.binary, self.path)
    }
}

/// Where the items of a source file are: the id of the binary, and the modules above them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourcePlace {
    binary: String,
    modules: Vec<String>,
}

impl SourcePlace {
    /// The place of a file, `src/…` or `tests/…` inside the package's directory; `None` for any other file.
    pub(crate) fn of(package: &str, file: &Path) -> Option<Self> {
        let mut parts: Vec<String> = file
            .with_extension("")
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
                _ => None,
            })
            .collect();
        if parts.len() < 2 {
            return None;
        }
        if matches!(
            parts.last().map(String::as_str),
            Some("mod" | "main" | "lib")
        ) {
            parts.pop();
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (binary, modules) = match parts.as_slice() {
            ["src", "bin", name, modules @ ..] => (format!("{package}::bin/{name}"), modules),
            ["src", modules @ ..] => (package.to_owned(), modules),
            ["tests", name, modules @ ..] => (format!("{package}::{name}"), modules),
            _ => return None,
        };
        Some(Self {
            binary,
            modules: modules.iter().map(|module| (*module).to_owned()).collect(),
        })
    }

    /// The test at this path inside the file.
    pub(crate) fn test(&self, path: &[String]) -> TestName {
        let parts: Vec<&str> = self
            .modules
            .iter()
            .chain(path)
            .map(String::as_str)
            .collect();
        TestName {
            binary: self.binary.clone(),
            path: parts.join("::"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(file: &str) -> String {
        let place = SourcePlace::of("adapter", Path::new(file)).expect("a place");
        place
            .test(&["tests".to_owned(), "works".to_owned()])
            .to_string()
    }

    #[test]
    fn names_are_those_of_nextest() {
        for (file, expected) in [
            ("src/lib.rs", "adapter tests::works"),
            (
                "src/agent/options.rs",
                "adapter agent::options::tests::works",
            ),
            ("src/agent/mod.rs", "adapter agent::tests::works"),
            ("src/bin/tap.rs", "adapter::bin/tap tests::works"),
            ("src/bin/runner/main.rs", "adapter::bin/runner tests::works"),
            (
                "src/bin/runner/peer.rs",
                "adapter::bin/runner peer::tests::works",
            ),
            ("tests/crash.rs", "adapter::crash tests::works"),
            ("tests/cli/main.rs", "adapter::cli tests::works"),
            ("tests/cli/input.rs", "adapter::cli input::tests::works"),
        ] {
            assert_eq!(name(file), expected, "{file}");
        }
        for file in ["build.rs", "examples/soak.rs"] {
            assert_eq!(SourcePlace::of("adapter", Path::new(file)), None, "{file}");
        }
    }
}
