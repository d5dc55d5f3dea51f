//! From a view to a Cedar decision.
