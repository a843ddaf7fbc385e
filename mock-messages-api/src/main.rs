//! The mock Messages API as a program.
fn main() {}
