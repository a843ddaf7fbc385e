//! What the program does with its arguments.

mod arguments;
mod script_file;
mod serving;

pub(crate) use arguments::Arguments;
pub(crate) use serving::run;
