//! Named faults, so that a test of the adapter can be shown to fail.

use std::str::FromStr;

/// A promise that the adapter breaks on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Sabotage {
    /// A later deferrable call of a segment is allowed and runs inside the turn.
    AllowSecondWrite,
    /// A single-attempt call is attempted again after a crash.
    RepeatAfterCrash,
    /// A later deferrable call of a segment is deferred too.
    DeferTwice,
    /// The handler runs when the call is deferred, before anybody approved it.
    RunBeforeApproval,
    /// The handler gets other arguments than the ones that were approved.
    AlterArguments,
    /// The handler is called twice in one attempt.
    RunTwice,
    /// Every attempt gets an idempotency key of its own.
    FreshKeyPerAttempt,
    /// The model gets the standard rejection text instead of the given one.
    IgnoreRejectionMessage,
    /// The recorded text is changed before it reaches the model.
    AlterRecordedText,
    /// A queued message is accepted and lost.
    LoseQueuedMessage,
    /// A transcript entry is stored twice.
    DuplicateTranscriptEntry,
    /// A delta is published that belongs to no message text.
    InventDelta,
    /// `--await-initialize` is not passed.
    SkipAwaitInitialize,
    /// Hooks and permission requests of a resumed segment are not answered.
    AnswerNothing,
    /// A process outlives the worker's orderly stop.
    LeaveProcess,
    /// A file is left in the home directory.
    LeaveFile,
}

impl Sabotage {
    const NAMES: &[(&str, Self)] = &[
        ("allow-second-write", Self::AllowSecondWrite),
        ("defer-twice", Self::DeferTwice),
        ("repeat-after-crash", Self::RepeatAfterCrash),
        ("run-before-approval", Self::RunBeforeApproval),
        ("alter-arguments", Self::AlterArguments),
        ("run-twice", Self::RunTwice),
        ("fresh-key-per-attempt", Self::FreshKeyPerAttempt),
        ("ignore-rejection-message", Self::IgnoreRejectionMessage),
        ("alter-recorded-text", Self::AlterRecordedText),
        ("lose-queued-message", Self::LoseQueuedMessage),
        ("duplicate-transcript-entry", Self::DuplicateTranscriptEntry),
        ("invent-delta", Self::InventDelta),
        ("skip-await-initialize", Self::SkipAwaitInitialize),
        ("answer-nothing", Self::AnswerNothing),
        ("leave-process", Self::LeaveProcess),
        ("leave-file", Self::LeaveFile),
    ];
}

impl FromStr for Sabotage {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, sabotage)| *sabotage)
            .ok_or_else(|| {
                let known: Vec<&str> = Self::NAMES.iter().map(|(known, _)| *known).collect();
                format!("find a fault named {name}; known are {}", known.join(", "))
            })
    }
}
