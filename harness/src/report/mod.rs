//! What a run prints and writes.

mod json;
mod junit;
mod markdown;
mod progress;
mod table;
mod terminal;

pub use json::{JSON_SCHEMA, to_json};
pub use junit::to_junit;
pub use markdown::to_markdown;
pub use progress::Progress;
pub use terminal::{findings, summary_line, to_terminal};
