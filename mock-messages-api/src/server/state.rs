//! What the server remembers: scripts, attempts and journals.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use super::decision::Decision;
use crate::{
    journal::{JournalEntry, Outcome},
    model::Model,
    observer::{Observer, ReplyEnd, RequestIdentity},
    script::Script,
    selection::Choice,
    verification::VerificationError,
};

/// What every connection of a server shares.
pub(crate) struct ServerState {
    pub(crate) settings: Settings,
    /// Changes whenever a response ends.
    ends: watch::Sender<()>,
    sessions: Mutex<BTreeMap<String, Session>>,
}

/// What is settled when the server starts.
#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) expected_key: Option<String>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) control_routes: bool,
    pub(crate) verify_on_drop: bool,
    /// The models there are; any when empty.
    pub(crate) models: Vec<Model>,
    /// Gets each journal entry as a line of JSON once its response is over.
    pub(crate) journal_sink: Option<Mutex<Box<dyn Write + Send>>>,
}

#[derive(Default)]
struct Session {
    script: Option<Arc<Script>>,
    /// How many requests have arrived since the server started. It outlives scripts and journals, so that a request
    /// that is still under way is never taken for a later one.
    arrivals: u64,
    journal: Vec<JournalEntry>,
    attempts: HashMap<Choice, usize>,
}

impl Session {
    fn is_settled(&self) -> bool {
        self.journal.iter().all(|entry| entry.end.is_some())
    }
}

impl ServerState {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            ends: watch::Sender::new(()),
            sessions: Mutex::default(),
        }
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn mount(&self, session: &str, script: Script) {
        self.renew(session, Some(Arc::new(script)));
    }

    /// Forgets a session; says whether it had a script.
    pub(crate) fn unmount(&self, session: &str) -> bool {
        self.renew(session, None).script.is_some()
    }

    fn renew(&self, name: &str, script: Option<Arc<Script>>) -> Session {
        let mut sessions = self.sessions();
        let session = sessions.entry(name.to_owned()).or_default();
        let renewed = Session {
            script,
            arrivals: session.arrivals,
            ..Session::default()
        };
        std::mem::replace(session, renewed)
    }

    pub(crate) fn script(&self, session: &str) -> Option<Arc<Script>> {
        self.sessions().get(session)?.script.clone()
    }

    /// Counts an attempt at an exchange; the answer counts from 0.
    pub(crate) fn next_attempt(&self, session: &str, choice: Choice) -> usize {
        let mut sessions = self.sessions();
        let attempts = &mut sessions.entry(session.to_owned()).or_default().attempts;
        let next = attempts.entry(choice).or_default();
        let attempt = *next;
        *next += 1;
        attempt
    }

    pub(crate) fn journal(&self, session: &str) -> Vec<JournalEntry> {
        self.sessions()
            .get(session)
            .map(|session| session.journal.clone())
            .unwrap_or_default()
    }

    pub(crate) fn whole_journal(&self) -> Vec<JournalEntry> {
        self.sessions()
            .values()
            .flat_map(|session| session.journal.iter().cloned())
            .collect()
    }

    /// Journals a request; its number is filled in.
    pub(crate) fn record_arrival(&self, mut entry: JournalEntry) -> RequestIdentity {
        let mut sessions = self.sessions();
        let session = sessions.entry(entry.session.clone()).or_default();
        session.arrivals += 1;
        entry.number = session.arrivals;
        let identity = RequestIdentity {
            session: entry.session.clone(),
            client: entry.client.clone(),
            number: entry.number,
        };
        session.journal.push(entry);
        identity
    }

    pub(crate) fn record_decision(&self, request: &RequestIdentity, decision: &Decision) {
        self.update(request, |entry| {
            entry.outcome = decision.outcome.clone();
            entry.failed_expectations = decision.failed_expectations.clone();
        });
    }

    pub(crate) fn record_event(&self, request: &RequestIdentity, event_type: &str) {
        self.update(request, |entry| entry.events.push(event_type.to_owned()));
    }

    /// Notes the end of a response; the first end is the one that counts.
    pub(crate) fn record_end(&self, request: &RequestIdentity, end: ReplyEnd) {
        let ended = self.update(request, |entry| match entry.end {
            Some(_) => None,
            None => {
                entry.end = Some(end);
                Some(entry.clone())
            }
        });
        self.ends.send_replace(());
        if let (Some(Some(entry)), Some(sink)) = (ended, &self.settings.journal_sink) {
            let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = write_line(&mut **sink, &entry) {
                tracing::error!(%error, "failed to write the journal");
            }
        }
    }

    /// Waits until no response of a session is under way.
    pub(crate) async fn settled(&self, session: &str) {
        self.until(|sessions| sessions.get(session).is_none_or(Session::is_settled))
            .await;
    }

    /// Waits until no response is under way.
    pub(crate) async fn all_settled(&self) {
        self.until(|sessions| sessions.values().all(Session::is_settled))
            .await;
    }

    async fn until(&self, is_so: impl Fn(&BTreeMap<String, Session>) -> bool) {
        // An error means that the sender is gone, which `self` owns.
        let _ = self
            .ends
            .subscribe()
            .wait_for(|()| is_so(&self.sessions()))
            .await;
    }

    fn update<T>(
        &self,
        request: &RequestIdentity,
        change: impl FnOnce(&mut JournalEntry) -> T,
    ) -> Option<T> {
        let mut sessions = self.sessions();
        let journal = &mut sessions.get_mut(&request.session)?.journal;
        let position = journal
            .binary_search_by_key(&request.number, |entry| entry.number)
            .ok()?;
        journal.get_mut(position).map(change)
    }

    /// What departed from its script, session by session.
    pub(crate) fn verify_all(&self) -> Vec<VerificationError> {
        let mounted: Vec<_> = self
            .sessions()
            .iter()
            .filter(|(_, session)| session.script.is_some() || !session.journal.is_empty())
            .map(|(name, _)| name.clone())
            .collect();
        mounted
            .iter()
            .filter_map(|session| self.verify(session).err())
            .collect()
    }

    pub(crate) fn verify(&self, name: &str) -> Result<(), VerificationError> {
        let problems = match self.sessions().get(name) {
            Some(session) if session.script.is_some() => problems(session),
            _ => vec!["no script is mounted".to_owned()],
        };
        if problems.is_empty() {
            return Ok(());
        }
        Err(VerificationError {
            session: name.to_owned(),
            problems,
        })
    }
}

fn write_line(sink: &mut dyn Write, entry: &JournalEntry) -> io::Result<()> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    sink.write_all(&line)?;
    sink.flush()
}

fn problems(session: &Session) -> Vec<String> {
    session
        .journal
        .iter()
        .flat_map(request_problems)
        .chain(session.script.iter().flat_map(|script| {
            script
                .exchanges()
                .iter()
                .enumerate()
                .filter(|(index, exchange)| !exchange.optional && !was_asked(session, *index))
                .map(|(index, _)| format!("exchange {} was never asked for", index + 1))
        }))
        .collect()
}

fn was_asked(session: &Session, exchange: usize) -> bool {
    session
        .attempts
        .keys()
        .any(|choice| choice.exchange == exchange)
}

fn request_problems(entry: &JournalEntry) -> Vec<String> {
    let number = entry.number;
    let outcome = match &entry.outcome {
        Outcome::Unanswered { message } => Some(format!("request {number}: {message}")),
        Outcome::Rejected { status, message } => Some(format!(
            "request {number} is one that the real API refuses with {status}: {message}"
        )),
        _ => None,
    };
    outcome
        .into_iter()
        .chain(
            entry
                .failed_expectations
                .iter()
                .map(|failure| format!("request {number}: {failure}")),
        )
        .collect()
}
