//! Whether what was built is still what its sources say.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What is wrong with a binary that cargo built, judged by the list of sources that cargo keeps beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Staleness {
    /// It is not there.
    Missing,
    /// This source is newer.
    OlderThan(PathBuf),
}

/// `None` when the binary is there and no source of it is newer.
pub(crate) fn staleness(binary: &Path) -> Option<Staleness> {
    let Some(built) = modified(binary) else {
        return Some(Staleness::Missing);
    };
    let list = fs::read_to_string(binary.with_extension("d")).ok()?;
    sources(&list)
        .into_iter()
        .find(|source| modified(source).is_some_and(|time| time > built))
        .map(Staleness::OlderThan)
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .ok()
}

/// The prerequisites in a make rule, where a space inside a name is escaped.
fn sources(rule: &str) -> Vec<PathBuf> {
    let Some((_, prerequisites)) = rule.lines().next().and_then(|line| line.split_once(": "))
    else {
        return Vec::new();
    };
    prerequisites
        .replace("\\ ", "\0")
        .split_whitespace()
        .map(|name| PathBuf::from(name.replace('\0', " ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    fn file(path: &Path, seconds: u64) {
        let file = File::create(path).expect("a file");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
            .expect("a time");
    }

    #[test]
    fn a_newer_source_makes_a_binary_stale() {
        let directory = tempfile::tempdir().expect("a directory");
        let (binary, source) = (
            directory.path().join("tool"),
            directory.path().join("my source.rs"),
        );
        assert_eq!(staleness(&binary), Some(Staleness::Missing));

        file(&binary, 200);
        file(&source, 100);
        let rule = format!(
            "{}: {}\n",
            binary.display(),
            source.display().to_string().replace(' ', "\\ ")
        );
        fs::write(directory.path().join("tool.d"), rule).expect("a rule");
        assert_eq!(staleness(&binary), None);

        file(&source, 300);
        assert_eq!(staleness(&binary), Some(Staleness::OlderThan(source)));
    }
}
