//! A configuration directory rebuilt from stored transcript entries.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::segment::conversation::SegmentStart;

/// Files beside the transcripts that a resumed CLI needs.
const COPIED: &[&str] = &[".credentials.json", ".claude.json", "settings.json"];

/// The longest directory name that the CLI makes without a hash. Observed on CLI 2.1.316.
const LONGEST_NAME: usize = 200;

/// A temporary configuration directory with one session in it; it is removed when dropped.
#[derive(Debug)]
pub(crate) struct RebuiltConfiguration {
    directory: TempDir,
}

impl RebuiltConfiguration {
    pub(crate) fn build(
        session: &str,
        start: &SegmentStart,
        scratch_directory: &Path,
        working_directory: &Path,
        copied_from: Option<&Path>,
    ) -> io::Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("claude-resume-")
            .tempdir_in(scratch_directory)?;
        let project = directory
            .path()
            .join("projects")
            .join(project_directory_name(working_directory));
        fs::create_dir_all(&project)?;
        let mut file = BufWriter::new(File::create(project.join(format!("{session}.jsonl")))?);
        for entry in start.stored_entries() {
            file.write_all(entry.get().as_bytes())?;
            file.write_all(b"\n")?;
        }
        for entry in start.turn_entries() {
            serde_json::to_writer(&mut file, entry)?;
            file.write_all(b"\n")?;
        }
        file.into_inner().map_err(io::IntoInnerError::into_error)?;
        if let Some(source) = copied_from {
            copy_settings(source, directory.path())?;
        }
        Ok(Self { directory })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

fn copy_settings(source: &Path, target: &Path) -> io::Result<()> {
    for name in COPIED {
        match fs::copy(source.join(name), target.join(name)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The name of a project's transcript directory, as CLI 2.1.316 makes it: every UTF-16 unit that
/// is no ASCII letter or digit becomes a dash, and a long name ends in a hash of the path.
fn project_directory_name(working_directory: &Path) -> String {
    let real =
        fs::canonicalize(working_directory).unwrap_or_else(|_| PathBuf::from(working_directory));
    let path = real.to_string_lossy();
    let name: String = path
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
            _ => '-',
        })
        .collect();
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let hash = path.encode_utf16().fold(0_i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    });
    format!("{}-{}", &name[..LONGEST_NAME], base36(hash.unsigned_abs()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
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
    fn names_project_directories_like_the_cli() {
        assert_eq!(
            project_directory_name(Path::new("/no-such/b.c_d e")),
            "-no-such-b-c-d-e"
        );
        assert_eq!(
            project_directory_name(Path::new("/no-such/😀")),
            "-no-such---"
        );
    }

    #[test]
    fn long_names_end_in_a_hash() {
        let path = format!("/no-such/{}", "x".repeat(300));
        let name = project_directory_name(Path::new(&path));
        assert_eq!(
            &name[..LONGEST_NAME],
            format!("-no-such-{}", "x".repeat(191))
        );
        assert!(name.len() > LONGEST_NAME + 1);
    }
}
