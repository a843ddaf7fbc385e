//! The session on disk: one JSON entry a line, mirrored to the host on request.

mod conversation;
mod entry;
mod load;
mod path;
mod requests;
mod writer;

pub(crate) use conversation::{api_messages, has_tool_result};
pub(crate) use entry::{EntryStamp, assistant_entry, attachment_entry, system_entry, user_entry};
pub(crate) use load::{LoadedSession, PendingDeferral, load};
pub(crate) use path::{find_session, latest_session, session_path};
pub(crate) use requests::{RecordedRequest, RequestRecords};
pub(crate) use writer::Transcript;
