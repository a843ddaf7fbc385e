//! What a scenario file says, word by word: the one source of the parser, of the JSON Schema and of the reference.

mod agent;
mod document;
mod entries;
mod expectations;
mod fault;
mod located;
mod node;
mod observation;
mod step;

pub(crate) use agent::*;
pub(crate) use document::*;
pub(crate) use entries::Entries;
pub(crate) use expectations::*;
pub(crate) use fault::*;
pub(crate) use located::{Located, Place};
pub(crate) use node::{Node, NodeKind};
pub(crate) use observation::*;
pub(crate) use step::*;
