//! From what a CLI said to what can be compared.

mod apply;
mod met;
mod order;
mod strings;
mod table;

pub(crate) use apply::{Names, normalised};
pub use met::MetRules;
pub(crate) use order::settled;
pub(crate) use strings::split_identifiers;
pub use table::{LEFT_OUT, Rule, Treatment, rules, rules_page};
