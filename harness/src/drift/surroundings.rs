//! Where the processes of one case live, and what of it may show in what they say.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The directories of one case; removed when dropped.
#[derive(Debug)]
pub(crate) struct Surroundings {
    root: tempfile::TempDir,
    /// How many config directories were made.
    configs: usize,
}

impl Surroundings {
    pub(crate) fn create_in(directory: &Path) -> io::Result<Self> {
        let root = tempfile::Builder::new()
            .prefix("case-")
            .tempdir_in(directory)?;
        let mut surroundings = Self { root, configs: 0 };
        for part in ["home", "cache", "tmp", "work", "outside"] {
            fs::create_dir(surroundings.part(part))?;
        }
        surroundings.new_config()?;
        Ok(surroundings)
    }

    /// A new, empty config directory takes the place of the one before.
    pub(crate) fn new_config(&mut self) -> io::Result<()> {
        self.configs += 1;
        fs::create_dir(self.config())
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.part(&format!("config{}", self.configs))
    }
    pub(crate) fn home(&self) -> PathBuf {
        self.part("home")
    }
    pub(crate) fn cache(&self) -> PathBuf {
        self.part("cache")
    }
    pub(crate) fn temporary(&self) -> PathBuf {
        self.part("tmp")
    }
    pub(crate) fn work(&self) -> PathBuf {
        self.part("work")
    }
    pub(crate) fn outside(&self) -> PathBuf {
        self.part("outside")
    }

    fn part(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// What stands for each path, the more specific ones first.
    pub(crate) fn names(&self) -> Vec<(String, &'static str)> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut names: Vec<(String, &'static str)> = (1..=self.configs)
            .rev()
            .map(|number| (text(self.part(&format!("config{number}"))), "[CONFIG]"))
            .collect();
        names.extend([
            (text(self.work()), "[CWD]"),
            (text(self.outside()), "[OUTSIDE]"),
            (text(self.home()), "[HOME]"),
            (text(self.cache()), "[CACHE]"),
            (text(self.temporary()), "[TMP]"),
            (project_key(&self.work()), "[PROJECT]"),
            (text(self.root.path().to_owned()), "[ROOT]"),
        ]);
        names
    }
}

/// How a CLI names the directory of a project's transcripts, as observed on CLI 2.1.316.
fn project_key(path: &Path) -> String {
    path.to_string_lossy()
        .encode_utf16()
        .map(|unit| {
            u8::try_from(unit)
                .ok()
                .filter(u8::is_ascii_alphanumeric)
                .map_or('-', char::from)
        })
        .collect()
}

/// Writes `files`, by path below `directory`.
pub(crate) fn write_files<'a>(
    directory: &Path,
    files: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> io::Result<()> {
    for (name, text) in files {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}
