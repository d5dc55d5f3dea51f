//! Every chore of the project, one command each.

fn main() {}
