//! The commands of the `harness` program.

mod arguments;
mod build;
mod check;
mod cli;
mod coverage;
mod drift;
mod entry;
mod error;
mod explain;
mod list;
mod output;
mod report_files;
mod run;
mod schema;
mod show;

pub use entry::main;
