//! Whole-system tests: real clients, real servers, crashes and falsification.
