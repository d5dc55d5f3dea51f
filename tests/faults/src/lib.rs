//! Faults between a process and its kernel, switched from outside.
//!
//! Preloaded (`LD_PRELOAD`) into an unmodified binary, it stands in for the
//! libc functions by which that binary writes, syncs, renames, connects and
//! sends, and for the wall clock. Each makes the real system call, unless a rule
//! of the control file (`layout.rs`) says otherwise: kill the process before,
//! within or after the call, report an error with or without having done it,
//! stop the process exactly there. Without a rule it does nothing. The harness in
//! `tests/src/crash` arms the rules and reads which ones acted.

mod control;
mod layout;

use std::ffi::{c_char, c_int, c_void};

use control::{Call, Subject, around};
use libc::{iovec, msghdr, off64_t, size_t, sockaddr, socklen_t, ssize_t, timespec};

fn result(returned: i64) -> ssize_t {
    // The kernel's answers fit; this is a 64-bit system.
    returned as ssize_t
}

/// Writes to a file or a socket.
///
/// # Safety
///
/// As `write`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, count: size_t) -> ssize_t {
    let call = Call::bytes(layout::CALL_WRITE, Subject::Descriptor(fd), count);
    around(&call, |count| {
        // SAFETY: `count` is at most what the caller gave.
        result(unsafe { libc::syscall(libc::SYS_write, fd, buffer, count) })
    })
}

/// Writes to a socket, mostly.
///
/// # Safety
///
/// As `writev`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    let call = Call::bytes(layout::CALL_WRITE, Subject::Descriptor(fd), usize::MAX);
    around(&call, |bytes| {
        // SAFETY: the caller's own arguments; half of them is the first half of
        // the first part, which is there since the count is at least 1.
        result(unsafe {
            if bytes == usize::MAX || count < 1 {
                libc::syscall(libc::SYS_writev, fd, parts, count)
            } else {
                libc::syscall(libc::SYS_write, fd, (*parts).iov_base, (*parts).iov_len / 2)
            }
        })
    })
}

/// Writes to a file at a place.
///
/// # Safety
///
/// As `pwrite64`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    at: off64_t,
) -> ssize_t {
    let call = Call::bytes(layout::CALL_WRITE, Subject::File(fd), count);
    around(&call, |count| {
        // SAFETY: `count` is at most what the caller gave.
        result(unsafe { libc::syscall(libc::SYS_pwrite64, fd, buffer, count, at) })
    })
}

/// Writes to a file at a place.
///
/// # Safety
///
/// As `pwrite`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite(
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    at: off64_t,
) -> ssize_t {
    // SAFETY: the same arguments; offsets have 64 bits here.
    unsafe { pwrite64(fd, buffer, count, at) }
}

/// Syncs a file.
#[unsafe(no_mangle)]
pub extern "C" fn fsync(fd: c_int) -> c_int {
    let call = Call::plain(layout::CALL_SYNC, Subject::File(fd));
    around(&call, |_| {
        // SAFETY: a number is all that is handed on.
        result(unsafe { libc::syscall(libc::SYS_fsync, fd) })
    }) as c_int
}

/// Syncs a file's data.
#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(fd: c_int) -> c_int {
    let call = Call::plain(layout::CALL_SYNC, Subject::File(fd));
    around(&call, |_| {
        // SAFETY: a number is all that is handed on.
        result(unsafe { libc::syscall(libc::SYS_fdatasync, fd) })
    }) as c_int
}

/// Sets a file's length.
#[unsafe(no_mangle)]
pub extern "C" fn ftruncate64(fd: c_int, length: off64_t) -> c_int {
    let call = Call::plain(layout::CALL_TRUNCATE, Subject::File(fd));
    around(&call, |_| {
        // SAFETY: numbers are all that is handed on.
        result(unsafe { libc::syscall(libc::SYS_ftruncate, fd, length) })
    }) as c_int
}

/// Moves a file.
///
/// # Safety
///
/// As `rename`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let call = Call::plain(layout::CALL_RENAME, Subject::Path(to));
    around(&call, |_| {
        let here = libc::AT_FDCWD;
        // SAFETY: the caller's own arguments.
        result(unsafe { libc::syscall(libc::SYS_renameat, here, from, here, to) })
    }) as c_int
}

/// Connects a socket.
///
/// # Safety
///
/// As `connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn connect(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int {
    let call = Call::plain(layout::CALL_CONNECT, Subject::Address(to, length));
    around(&call, |_| {
        // SAFETY: the caller's own arguments.
        result(unsafe { libc::syscall(libc::SYS_connect, fd, to, length) })
    }) as c_int
}

/// Sends on a socket.
///
/// # Safety
///
/// As `send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn send(
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's own arguments, and no address.
    unsafe { sendto(fd, buffer, count, flags, std::ptr::null(), 0) }
}

/// Sends on a socket.
///
/// # Safety
///
/// As `sendto`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendto(
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    flags: c_int,
    to: *const sockaddr,
    length: socklen_t,
) -> ssize_t {
    let call = Call::bytes(layout::CALL_SEND, Subject::Socket(fd), count);
    around(&call, |count| {
        // SAFETY: `count` is at most what the caller gave.
        result(unsafe { libc::syscall(libc::SYS_sendto, fd, buffer, count, flags, to, length) })
    })
}

/// Sends on a socket.
///
/// # Safety
///
/// As `sendmsg`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    let call = Call::plain(layout::CALL_SEND, Subject::Socket(fd));
    around(&call, |_| {
        // SAFETY: the caller's own arguments.
        result(unsafe { libc::syscall(libc::SYS_sendmsg, fd, message, flags) })
    })
}

/// Tells the time, moved by what the control file says; other clocks than the
/// one on the wall go on as they are.
///
/// # Safety
///
/// As `clock_gettime`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, into: *mut timespec) -> c_int {
    // SAFETY: the caller's own arguments.
    let told = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, into) } as c_int;
    if told == 0 && clock == libc::CLOCK_REALTIME && !into.is_null() {
        let moved_us = control::clock_us();
        if moved_us != 0 {
            // SAFETY: the kernel has just written to it.
            let time = unsafe { &mut *into };
            let us = time.tv_sec.saturating_mul(1_000_000) + time.tv_nsec / 1_000 + moved_us;
            time.tv_sec = us.div_euclid(1_000_000);
            time.tv_nsec = us.rem_euclid(1_000_000) * 1_000;
        }
    }
    told
}
