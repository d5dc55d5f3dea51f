//! The execution state machine and the stores that persist what it decides.
