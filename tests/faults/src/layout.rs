//! The control file: one page that the harness writes and the process under
//! test maps. Both sides build this file, so that they agree.
//!
//! All numbers are little-endian. A rule is armed by writing [`ARMED`] last; what
//! it saw and did is counted beside it, and survives the process.

/// The environment variable that names the control file.
pub const VARIABLE: &str = "COUNTERSIGN_FAULTS";
/// The length of the file, in bytes.
pub const LENGTH: usize = 65_536;

/// Microseconds that are added to the wall clock (i64).
pub const CLOCK_US: usize = 0;
/// Whether calls are recorded (u32).
pub const RECORDING: usize = 8;
/// How many calls were recorded (u32).
pub const RECORDED: usize = 12;

/// Where the rules begin, how many there are, and how long each is.
pub const RULES: usize = 64;
/// How many rules there are.
pub const RULE_COUNT: usize = 8;
/// The length of a rule, in bytes.
pub const RULE_BYTES: usize = 128;

/// Within a rule: 1 while it is armed (u32).
pub const ARMED: usize = 0;
/// Which calls it is about: one of the `CALL_` bits, or several (u32).
pub const CALLS: usize = 4;
/// What it does: an `ACTION_` (u32).
pub const ACTION: usize = 8;
/// The error number that a failing call reports (u32).
pub const ERRNO: usize = 12;
/// The first call that it acts on; 1 is the first that matches (u32).
pub const FROM: usize = 16;
/// On how many calls it acts (u32).
pub const TIMES: usize = 20;
/// How many calls matched since it was armed (u32).
pub const SEEN: usize = 24;
/// How often it acted (u32).
pub const FIRED: usize = 28;
/// For sockets: the port, on either side; 0 for calls on files (u32).
pub const PORT: usize = 32;
/// How long a delay takes, in milliseconds (u32).
pub const DELAY_MS: usize = 36;
/// For files: what the path ends with, up to a zero byte.
pub const ENDING: usize = 40;
/// The longest ending, in bytes.
pub const ENDING_BYTES: usize = RULE_BYTES - ENDING;

/// Where recorded calls begin; each is four u32: call, port, bytes, and the
/// first four bytes of the file's ending.
pub const RECORDS: usize = 4_096;
/// The length of a recorded call, in bytes.
pub const RECORD_BYTES: usize = 16;

/// `pwrite` and `write` on a file.
pub const CALL_WRITE: u32 = 1;
/// `fsync` and `fdatasync`.
pub const CALL_SYNC: u32 = 2;
/// `rename`; the path is the new one.
pub const CALL_RENAME: u32 = 4;
/// `ftruncate`.
pub const CALL_TRUNCATE: u32 = 8;
/// `connect`.
pub const CALL_CONNECT: u32 = 16;
/// `send`, `sendto`, `sendmsg`, `write` and `writev` on a socket.
pub const CALL_SEND: u32 = 32;

/// Kills the process instead of the call.
pub const ACTION_KILL_BEFORE: u32 = 1;
/// Does the first half of a write, then kills.
pub const ACTION_KILL_HALF: u32 = 2;
/// Does the call, then kills.
pub const ACTION_KILL_AFTER: u32 = 3;
/// Reports an error and does nothing.
pub const ACTION_FAIL_BEFORE: u32 = 4;
/// Does the call, and reports an error all the same: a lost acknowledgement.
pub const ACTION_FAIL_AFTER: u32 = 5;
/// Stops the process before the call, until somebody continues it.
pub const ACTION_STOP_BEFORE: u32 = 6;
/// Stops the process after the call.
pub const ACTION_STOP_AFTER: u32 = 7;
/// Waits before the call.
pub const ACTION_DELAY: u32 = 8;
/// Does the first half of a write, then reports an error.
pub const ACTION_FAIL_HALF: u32 = 9;
