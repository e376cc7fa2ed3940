//! The gitoggle program.
fn main() {}
