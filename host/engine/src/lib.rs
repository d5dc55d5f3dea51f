//! Loads profiles and runs them under limits.
