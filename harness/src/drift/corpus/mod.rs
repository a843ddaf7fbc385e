//! The cases: what is said to a CLI, and what its surroundings answer.

mod catalogue;
mod document;

pub use catalogue::{Case, CorpusError, corpus_schema, read_corpus};
pub use document::*;
