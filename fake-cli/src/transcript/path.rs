//! Where a session's file is.

use std::path::{Path, PathBuf};

use uuid::Uuid;

/// Names longer than this are cut and given a hash.
const LONGEST_NAME: usize = 200;

/// `<config>/projects/<key>/<session>.jsonl`.
pub(crate) fn session_path(config: &Path, working_directory: &Path, session: Uuid) -> PathBuf {
    config
        .join("projects")
        .join(project_key(&working_directory.to_string_lossy()))
        .join(format!("{session}.jsonl"))
}

/// Finds a session in any project directory of the configuration; the working directory's own comes
/// first (observed on CLI 2.1.316: the lookup is not limited to it).
pub(crate) fn find_session(
    config: &Path,
    working_directory: &Path,
    session: Uuid,
) -> Option<PathBuf> {
    let own = session_path(config, working_directory, session);
    if own.is_file() {
        return Some(own);
    }
    project_directories(config)
        .map(|directory| directory.join(format!("{session}.jsonl")))
        .find(|path| path.is_file())
}

/// The session of the working directory that was written last.
pub(crate) fn latest_session(config: &Path, working_directory: &Path) -> Option<Uuid> {
    let key = project_key(&working_directory.to_string_lossy());
    let directory = config.join("projects").join(key);
    std::fs::read_dir(directory)
        .ok()?
        .flatten()
        .filter_map(|file| {
            let path = file.path();
            let stem = path.file_stem()?.to_str()?;
            let session = Uuid::parse_str(stem).ok()?;
            let modified = file
                .metadata()
                .and_then(|metadata| metadata.modified())
                .ok()?;
            (path.extension()? == "jsonl").then_some((modified, session))
        })
        .max_by_key(|(modified, _)| *modified)
        .map(|(_, session)| session)
}

fn project_directories(config: &Path) -> impl Iterator<Item = PathBuf> {
    let mut directories: Vec<PathBuf> = std::fs::read_dir(config.join("projects"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    directories.sort();
    directories.into_iter()
}

/// The directory name of a project: every UTF-16 unit that is no ASCII letter or digit becomes a
/// dash; a long name is cut and ends in a hash of the path (observed on CLI 2.1.316).
pub(crate) fn project_key(path: &str) -> String {
    let mut key: String = path
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
            _ => '-',
        })
        .collect();
    if key.len() > LONGEST_NAME {
        key.truncate(LONGEST_NAME);
        key.push('-');
        key.push_str(&base36(path_hash(path)));
    }
    key
}

/// The 32-bit hash of Java's strings, without its sign.
fn path_hash(path: &str) -> u32 {
    path.encode_utf16()
        .fold(0_i32, |hash, unit| {
            hash.wrapping_mul(31).wrapping_add(i32::from(unit))
        })
        .unsigned_abs()
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = char::from_digit(number % 36, 36).unwrap_or('0');
        digits.push(digit);
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_observed_rules() {
        assert_eq!(project_key("/a/b.c_d e"), "-a-b-c-d-e");
        assert_eq!(project_key("/x/\u{1F600}"), "-x---");
        let long = format!("/{}", "a".repeat(300));
        let key = project_key(&long);
        assert_eq!(&key[..LONGEST_NAME], format!("-{}", "a".repeat(199)));
        assert!(key.len() > LONGEST_NAME + 1);
    }

    #[test]
    fn the_hash_is_written_in_base_36() {
        assert_eq!(base36(0), "0");
        assert_eq!(base36(35), "z");
        assert_eq!(base36(36), "10");
    }
}
