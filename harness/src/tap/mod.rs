//! `cli-tap`: what an adapter is told to start as the Claude Code CLI. It starts the real one or the
//! fake one and lets the cell see, hold and change every line on the way.

mod child;
mod messages;
mod pump;
mod run;

pub use messages::{Bytes, FromTap, SETTINGS_FILE, TapSettings, ToTap};
pub use run::{TapError, run};
