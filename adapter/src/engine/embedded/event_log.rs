//! Live events, told from process to process through files that the page cache holds.
//!
//! Every process that has something to tell appends to a file of its own, a line an event;
//! listeners read what was appended. A line that was written is read even if its writer is killed
//! the moment after, and a slow reader holds nobody up. Nothing is synced: live events are no
//! part of a session's durable state.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use uuid::Uuid;

use crate::engine::contract::LiveEvent;

/// How large a file may grow before its writer takes the next one, in bytes.
const FILE_LIMIT: u64 = 4 * 1024 * 1024;

/// How long the file of a writer that is gone is kept for its readers.
const KEPT: Duration = Duration::from_secs(60);

/// Marks a file that is not ready to be read.
const UNREADY: &str = ".new";

/// The directory of the event files.
pub(crate) fn events_directory(state_directory: &Path) -> PathBuf {
    state_directory.join("events")
}

/// Appends events to this process's files.
#[derive(Debug)]
pub(crate) struct EventWriter {
    directory: PathBuf,
    /// Part of the names of this writer's files.
    name: Uuid,
    limit: u64,
    number: u64,
    file: File,
    written: u64,
    /// Kept open, and so locked, for readers that have not come to its end.
    previous: Option<(PathBuf, File)>,
}

impl EventWriter {
    pub(crate) fn create(state_directory: &Path) -> io::Result<Self> {
        Self::with_limit(&events_directory(state_directory), FILE_LIMIT)
    }

    fn with_limit(directory: &Path, limit: u64) -> io::Result<Self> {
        remove_abandoned(directory)?;
        let name = Uuid::new_v4();
        Ok(Self {
            file: create_file(&file_path(directory, name, 0))?,
            directory: directory.to_owned(),
            name,
            limit,
            number: 0,
            written: 0,
            previous: None,
        })
    }

    /// One write for one event, so that a reader sees it whole.
    pub(crate) fn append(&mut self, event: &LiveEvent) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        if self.written > self.limit {
            self.take_next_file()?;
        }
        self.file.write_all(&line)?;
        self.written += line.len() as u64;
        Ok(())
    }

    fn take_next_file(&mut self) -> io::Result<()> {
        let next = create_file(&file_path(&self.directory, self.name, self.number + 1))?;
        let full = file_path(&self.directory, self.name, self.number);
        let full_file = std::mem::replace(&mut self.file, next);
        if let Some((path, _)) = self.previous.replace((full, full_file)) {
            // What stays behind is only litter.
            let _ = fs::remove_file(path);
        }
        self.number += 1;
        self.written = 0;
        Ok(())
    }
}

/// Names sort by writer and age, so that reading in their order is reading in order.
fn file_path(directory: &Path, writer: Uuid, number: u64) -> PathBuf {
    directory.join(format!("{writer}-{number:012}"))
}

/// Locked before it has its name, so that it is never taken for an abandoned one.
fn create_file(path: &Path) -> io::Result<File> {
    let unready = path.with_extension(&UNREADY[1..]);
    let file = OpenOptions::new()
        .create_new(true)
        .append(true)
        .open(&unready)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    fs::rename(&unready, path)?;
    Ok(file)
}

/// Removes the files of writers that are gone.
fn remove_abandoned(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let Ok(file) = File::open(&path) else {
            continue;
        };
        let is_old = file
            .metadata()?
            .modified()?
            .elapsed()
            .is_ok_and(|age| age > KEPT);
        if is_old && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // Another process may have been faster.
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}

/// Reads the events of all processes, from its opening on.
#[derive(Debug)]
pub(crate) struct EventReader {
    directory: PathBuf,
    files: BTreeMap<OsString, FollowedFile>,
}

#[derive(Debug)]
struct FollowedFile {
    file: File,
    /// The beginning of a line whose end has not been read.
    partial: Vec<u8>,
}

impl EventReader {
    pub(crate) fn open(state_directory: &Path) -> io::Result<Self> {
        let mut reader = Self {
            directory: events_directory(state_directory),
            files: BTreeMap::new(),
        };
        reader.find_files()?;
        for followed in reader.files.values_mut() {
            io::Seek::seek(&mut followed.file, io::SeekFrom::End(0))?;
        }
        Ok(reader)
    }

    /// What was told since the last call. The order within one writer is the order of telling.
    pub(crate) fn read(&mut self) -> io::Result<Vec<LiveEvent>> {
        // A file that was seen to have a successor is complete when it is read after that.
        let listed = self.find_files()?;
        let mut events = Vec::new();
        for followed in self.files.values_mut() {
            followed.read(&mut events)?;
        }
        self.files.retain(|name, _| listed.contains(name));
        Ok(events)
    }

    fn find_files(&mut self) -> io::Result<Vec<OsString>> {
        let mut listed = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            if name.to_string_lossy().ends_with(UNREADY) {
                continue;
            }
            if !self.files.contains_key(&name) {
                match File::open(self.directory.join(&name)) {
                    Ok(file) => {
                        let partial = Vec::new();
                        self.files
                            .insert(name.clone(), FollowedFile { file, partial });
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                }
            }
            listed.push(name);
        }
        Ok(listed)
    }
}

impl FollowedFile {
    fn read(&mut self, events: &mut Vec<LiveEvent>) -> io::Result<()> {
        self.file.read_to_end(&mut self.partial)?;
        let Some(end) = self.partial.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(());
        };
        let rest = self.partial.split_off(end + 1);
        let whole = std::mem::replace(&mut self.partial, rest);
        for line in whole.split(|byte| *byte == b'\n') {
            if line.is_empty() {
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(event) => events.push(event),
                // A newer version may tell of kinds that this one does not know.
                Err(error) => tracing::debug!(%error, "skipped a live event"),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]
mod tests {
    use super::*;
    use crate::session::event::SessionEvent;

    fn event(number: u32) -> LiveEvent {
        LiveEvent {
            session_id: "session".to_owned(),
            turn_id: "turn-1".to_owned(),
            step_execution_id: "turn-1-step-1".to_owned(),
            attempt: number,
            event: SessionEvent::TextDelta {
                text: format!("line {number}\n"),
                message_id: "m".to_owned(),
            },
        }
    }

    fn directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(events_directory(directory.path())).unwrap();
        directory
    }

    #[test]
    fn a_reader_hears_what_is_told_after_it_was_opened() {
        let directory = directory();
        let mut writer = EventWriter::create(directory.path()).unwrap();
        writer.append(&event(1)).unwrap();
        let mut reader = EventReader::open(directory.path()).unwrap();
        writer.append(&event(2)).unwrap();
        assert_eq!(reader.read().unwrap(), [event(2)]);
        assert_eq!(reader.read().unwrap(), []);
        let mut other = EventWriter::create(directory.path()).unwrap();
        other.append(&event(3)).unwrap();
        drop(other);
        assert_eq!(reader.read().unwrap(), [event(3)]);
    }

    #[test]
    fn nothing_is_lost_or_moved_from_file_to_file() {
        let directory = directory();
        let mut reader = EventReader::open(directory.path()).unwrap();
        let mut writer = EventWriter::with_limit(&events_directory(directory.path()), 200).unwrap();
        for number in 1..=20 {
            writer.append(&event(number)).unwrap();
            assert_eq!(reader.read().unwrap(), [event(number)]);
        }
        let left = fs::read_dir(events_directory(directory.path())).unwrap();
        assert_eq!(left.count(), 2, "full files are removed");
    }

    #[test]
    fn half_a_line_waits_for_its_other_half() {
        let directory = directory();
        let mut reader = EventReader::open(directory.path()).unwrap();
        let mut line = serde_json::to_vec(&event(1)).unwrap();
        line.push(b'\n');
        let path = events_directory(directory.path()).join("writer-0");
        let mut file = File::create(path).unwrap();
        file.write_all(&line[..10]).unwrap();
        assert_eq!(reader.read().unwrap(), []);
        file.write_all(&line[10..]).unwrap();
        assert_eq!(reader.read().unwrap(), [event(1)]);
    }

    #[test]
    fn only_old_files_of_writers_that_are_gone_are_removed() {
        let directory = directory();
        let aged = |writer: &EventWriter| {
            let long_ago = std::time::SystemTime::now() - 2 * KEPT;
            writer.file.set_modified(long_ago).unwrap();
        };
        let living = EventWriter::create(directory.path()).unwrap();
        aged(&living);
        drop(EventWriter::create(directory.path()).unwrap());
        let old = EventWriter::create(directory.path()).unwrap();
        aged(&old);
        drop(old);
        remove_abandoned(&events_directory(directory.path())).unwrap();
        let left = fs::read_dir(events_directory(directory.path())).unwrap();
        assert_eq!(left.count(), 2, "the living one's and the young one's");
    }
}
