//! An MCP server whose side effects can be counted.

fn main() {}
