//! From what a CLI said to what can be compared.

mod apply;
mod met;
mod order;
mod page;
mod rule;
mod strings;
mod table;

pub(crate) use apply::{Names, normalised};
pub use met::MetRules;
pub(crate) use order::settled;
pub use page::rules_page;
pub use rule::{LEFT_OUT, Rule, Treatment};
pub(crate) use strings::split_identifiers;
pub use table::rules;
