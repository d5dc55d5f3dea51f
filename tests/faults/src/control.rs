//! The rules of the control file, and how one acts on a call.

use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use libc::{sockaddr, sockaddr_in, socklen_t, ssize_t};

use crate::layout;

/// What a call is about.
pub(crate) enum Subject {
    /// A file, or a socket.
    Descriptor(c_int),
    /// A file.
    File(c_int),
    /// A socket.
    Socket(c_int),
    /// A path, ended by a zero.
    Path(*const c_char),
    /// An address to connect to.
    Address(*const sockaddr, socklen_t),
}

/// A call that is about to be made.
pub(crate) struct Call {
    kind: u32,
    subject: Subject,
    bytes: usize,
}

impl Call {
    pub(crate) fn bytes(kind: u32, subject: Subject, bytes: usize) -> Self {
        Self {
            kind,
            subject,
            bytes,
        }
    }

    pub(crate) fn plain(kind: u32, subject: Subject) -> Self {
        Self {
            kind,
            subject,
            bytes: 0,
        }
    }
}

/// The mapped control file; none where the process was started without one.
struct Page(*const u8);

// SAFETY: everything in it is read and written as atomics.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    fn u32(&self, at: usize) -> &AtomicU32 {
        debug_assert!(at + 4 <= layout::LENGTH && at.is_multiple_of(4));
        // SAFETY: within the mapping, aligned, and mapped for ever.
        unsafe { &*self.0.add(at).cast::<AtomicU32>() }
    }

    fn i64(&self, at: usize) -> &AtomicI64 {
        debug_assert!(at + 8 <= layout::LENGTH && at.is_multiple_of(8));
        // SAFETY: within the mapping, aligned, and mapped for ever.
        unsafe { &*self.0.add(at).cast::<AtomicI64>() }
    }
}

fn page() -> Option<&'static Page> {
    static PAGE: OnceLock<Option<Page>> = OnceLock::new();
    PAGE.get_or_init(map).as_ref()
}

fn map() -> Option<Page> {
    let name = std::ffi::CString::new(layout::VARIABLE).ok()?;
    // SAFETY: a string ended by a zero; the environment is not changed while a
    // process starts.
    let path = unsafe { libc::getenv(name.as_ptr()) };
    if path.is_null() {
        return None;
    }
    // SAFETY: the path is ended by a zero; the arguments are those of a shared
    // mapping of a file, which is checked below.
    let mapped = unsafe {
        let fd = libc::open(path, libc::O_RDWR | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let none = std::ptr::null_mut();
        let mapped = libc::mmap(none, layout::LENGTH, protection, libc::MAP_SHARED, fd, 0);
        libc::close(fd);
        mapped
    };
    (mapped != libc::MAP_FAILED).then(|| Page(mapped.cast::<u8>().cast_const()))
}

/// How far the wall clock is moved, in microseconds.
pub(crate) fn clock_us() -> i64 {
    page().map_or(0, |page| page.i64(layout::CLOCK_US).load(Ordering::Relaxed))
}

/// Makes a call by `real`, which is given how many bytes of it to do, or lets a
/// rule act on it.
pub(crate) fn around(call: &Call, real: impl Fn(usize) -> ssize_t) -> ssize_t {
    let Some(page) = page() else {
        return real(call.bytes);
    };
    if page.u32(layout::RECORDING).load(Ordering::Relaxed) == 1 {
        record(page, call);
    }
    for number in 0..layout::RULE_COUNT {
        let rule = layout::RULES + number * layout::RULE_BYTES;
        if page.u32(rule + layout::ARMED).load(Ordering::Acquire) == 1 && due(page, rule, call) {
            return act(page, rule, call, real);
        }
    }
    real(call.bytes)
}

/// Whether a rule is about this call, and acts on it.
fn due(page: &Page, rule: usize, call: &Call) -> bool {
    let number = |at| page.u32(rule + at).load(Ordering::Relaxed);
    let port = number(layout::PORT);
    let Some(about) = about(call, port != 0) else {
        return false;
    };
    if number(layout::CALLS) & about.kind == 0 {
        return false;
    }
    let meant = match port {
        0 => ends_with(page, rule, about.path()),
        port => about.ports.contains(&port),
    };
    if !meant {
        return false;
    }
    let seen = page.u32(rule + layout::SEEN).fetch_add(1, Ordering::AcqRel) + 1;
    let from = number(layout::FROM);
    let due = seen >= from && seen - from < number(layout::TIMES);
    if due {
        page.u32(rule + layout::FIRED)
            .fetch_add(1, Ordering::AcqRel);
    }
    due
}

fn act(page: &Page, rule: usize, call: &Call, real: impl Fn(usize) -> ssize_t) -> ssize_t {
    let number = |at| page.u32(rule + at).load(Ordering::Relaxed);
    let half = call.bytes / 2;
    let errno = c_int::try_from(number(layout::ERRNO)).unwrap_or(libc::EIO);
    match number(layout::ACTION) {
        layout::ACTION_KILL_BEFORE => signal(libc::SIGKILL),
        layout::ACTION_KILL_HALF => {
            real(half);
            signal(libc::SIGKILL);
        }
        layout::ACTION_KILL_AFTER => {
            real(call.bytes);
            signal(libc::SIGKILL);
        }
        layout::ACTION_FAIL_BEFORE => return failed(errno),
        layout::ACTION_FAIL_HALF => {
            real(half);
            return failed(errno);
        }
        layout::ACTION_FAIL_AFTER => {
            real(call.bytes);
            return failed(errno);
        }
        layout::ACTION_STOP_BEFORE => signal(libc::SIGSTOP),
        layout::ACTION_STOP_AFTER => {
            let done = real(call.bytes);
            // SAFETY: reads a number of this thread.
            let errno = unsafe { *libc::__errno_location() };
            signal(libc::SIGSTOP);
            set_errno(errno);
            return done;
        }
        layout::ACTION_DELAY => {
            std::thread::sleep(std::time::Duration::from_millis(
                number(layout::DELAY_MS).into(),
            ));
        }
        _ => {}
    }
    real(call.bytes)
}

fn signal(signal: c_int) {
    // To this very thread: one to the process is taken by any, and this one might
    // go on for a while.
    // SAFETY: sends a signal to a thread that is there.
    unsafe {
        libc::raise(signal);
    }
}

fn set_errno(errno: c_int) {
    // SAFETY: writes a number of this thread.
    unsafe { *libc::__errno_location() = errno };
}

fn failed(errno: c_int) -> ssize_t {
    set_errno(errno);
    -1
}

/// What a call turns out to be about.
struct About {
    kind: u32,
    ports: [u32; 2],
    path: [u8; 512],
    length: usize,
}

impl About {
    fn new(kind: u32) -> Self {
        Self {
            kind,
            ports: [0; 2],
            path: [0; 512],
            length: 0,
        }
    }

    fn path(&self) -> &[u8] {
        self.path.get(..self.length).unwrap_or_default()
    }
}

fn about(call: &Call, socket: bool) -> Option<About> {
    let mut about = About::new(call.kind);
    match (&call.subject, socket) {
        (Subject::Socket(fd) | Subject::Descriptor(fd), true) => {
            about.kind = layout::CALL_SEND;
            about.ports = ports(*fd);
        }
        (Subject::File(fd) | Subject::Descriptor(fd), false) => {
            about.length = path_of(*fd, &mut about.path)?;
        }
        (Subject::Path(path), false) => {
            // SAFETY: the caller of `rename` gave a string ended by a zero.
            let path = unsafe { CStr::from_ptr(*path) }.to_bytes();
            let length = path.len().min(about.path.len());
            about
                .path
                .get_mut(..length)?
                .copy_from_slice(path.get(..length)?);
            about.length = length;
        }
        (Subject::Address(address, length), true) => {
            about.ports = [port(*address, *length), 0];
        }
        _ => return None,
    }
    Some(about)
}

fn path_of(fd: c_int, into: &mut [u8; 512]) -> Option<usize> {
    let mut link = *b"/proc/self/fd/0000000000\0";
    let digits = link.get_mut(14..24)?;
    let mut left = u32::try_from(fd).ok()?;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(left % 10).ok()?;
        left /= 10;
    }
    // The kernel reads no number with zeros before it.
    let first = digits.iter().position(|digit| *digit != b'0').unwrap_or(9);
    let mut name = [0_u8; 25];
    let (folder, number) = (link.get(..14)?, link.get(14 + first..)?);
    name.get_mut(..14)?.copy_from_slice(folder);
    name.get_mut(14..14 + number.len())?.copy_from_slice(number);
    // SAFETY: the name is ended by a zero, and the buffer is as long as it says.
    let length = unsafe {
        libc::readlink(
            name.as_ptr().cast::<c_char>(),
            into.as_mut_ptr().cast::<c_char>(),
            into.len(),
        )
    };
    usize::try_from(length).ok()
}

fn ports(fd: c_int) -> [u32; 2] {
    let told = |peer: bool| {
        // SAFETY: an address of zeros is one; the length is that of the buffer.
        unsafe {
            let mut address: sockaddr_in = std::mem::zeroed();
            let mut length = size_of::<sockaddr_in>() as socklen_t;
            let into = (&raw mut address).cast::<sockaddr>();
            let told = if peer {
                libc::getpeername(fd, into, &raw mut length)
            } else {
                libc::getsockname(fd, into, &raw mut length)
            };
            if told == 0 { port(into, length) } else { 0 }
        }
    };
    [told(true), told(false)]
}

fn port(address: *const sockaddr, length: socklen_t) -> u32 {
    if address.is_null() || (length as usize) < size_of::<sockaddr_in>() {
        return 0;
    }
    // SAFETY: as long as it must be; read without regard to alignment.
    let address = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
    if i32::from(address.sin_family) == libc::AF_INET {
        u16::from_be(address.sin_port).into()
    } else {
        0
    }
}

fn ends_with(page: &Page, rule: usize, path: &[u8]) -> bool {
    let mut ending = [0_u8; layout::ENDING_BYTES];
    for (at, word) in (0..).step_by(4).zip(ending.chunks_mut(4)) {
        let bytes = page.u32(rule + layout::ENDING + at).load(Ordering::Relaxed);
        let bytes = bytes.to_le_bytes();
        for (into, byte) in word.iter_mut().zip(bytes) {
            *into = byte;
        }
    }
    let length = ending
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(ending.len());
    ending
        .get(..length)
        .is_some_and(|ending| path.ends_with(ending))
}

fn record(page: &Page, call: &Call) {
    let socket = about(call, true);
    let file = about(call, false);
    let (kind, port, mark) = match (&socket, &file) {
        (Some(socket), _) if socket.ports != [0, 0] => (socket.kind, socket.ports, 0),
        (_, Some(file)) => {
            let mut mark = [0_u8; 4];
            for (into, byte) in mark.iter_mut().rev().zip(file.path().iter().rev()) {
                *into = *byte;
            }
            (file.kind, [0, 0], u32::from_le_bytes(mark))
        }
        _ => return,
    };
    let number = page.u32(layout::RECORDED).fetch_add(1, Ordering::AcqRel);
    let at = layout::RECORDS + number as usize * layout::RECORD_BYTES;
    if at + layout::RECORD_BYTES > layout::LENGTH {
        return;
    }
    let [peer, own] = port;
    let bytes = u32::try_from(call.bytes).unwrap_or(u32::MAX);
    for (word, value) in [kind, (peer << 16) | own, bytes, mark]
        .into_iter()
        .enumerate()
    {
        page.u32(at + word * 4).store(value, Ordering::Release);
    }
}
