//! What the end of a stream means for the request, without any I/O.

use super::{AttemptEnd, Cut, Received};
use crate::messages_api::{ApiFailure, StreamFault};

/// The rule is whether a content block is complete (observed on CLI 2.1.316).
pub(super) fn of_stream(received: Received) -> AttemptEnd {
    let reply = &received.reply;
    match () {
        () if reply.is_complete() => AttemptEnd::Complete(received),
        () if !reply.has_started() => AttemptEnd::FallBack(ApiFailure::EmptyStream),
        () if reply.closed_blocks() > 0 => AttemptEnd::Cut(received, Cut::Connection),
        () if reply.has_open_block() => AttemptEnd::Retry {
            failure: ApiFailure::ConnectionDropped,
            announced: true,
        },
        () => AttemptEnd::FallBack(ApiFailure::EmptyStream),
    }
}

pub(super) fn of_fault(received: Received, fault: &StreamFault) -> AttemptEnd {
    match fault {
        StreamFault::Garbage(_) => AttemptEnd::FallBack(ApiFailure::EmptyStream),
        StreamFault::Stalled if received.reply.has_started() => {
            AttemptEnd::FallBack(ApiFailure::TimedOut)
        }
        StreamFault::Stalled => AttemptEnd::Retry {
            failure: ApiFailure::TimedOut,
            announced: false,
        },
        StreamFault::Cut if received.reply.closed_blocks() > 0 => {
            AttemptEnd::Cut(received, Cut::Connection)
        }
        StreamFault::Cut => AttemptEnd::Retry {
            failure: ApiFailure::ConnectionDropped,
            announced: true,
        },
    }
}

pub(super) fn of_error(received: Received, kind: String, message: String) -> AttemptEnd {
    if received.reply.closed_blocks() > 0 {
        return AttemptEnd::Cut(received, Cut::Server);
    }
    let overloaded = kind == "overloaded_error";
    let failure = ApiFailure::ErrorEvent { kind, message };
    if overloaded && !received.reply.has_open_block() {
        return AttemptEnd::Retry {
            failure,
            announced: false,
        };
    }
    AttemptEnd::FallBack(failure)
}
