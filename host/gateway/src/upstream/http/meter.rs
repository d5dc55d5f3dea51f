//! The wrapper that knows whether a byte of a request has left.
//!
//! It sits between HTTP and the socket (or TLS), so what it sees are
//! application bytes. Directly before the first one of a call is handed on it
//! passes the ledger's gate; a gate that is closed lets nothing through.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use countersign_ledger::SendGate;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::upstream::Trace;

/// What the next write belongs to; shared by a connection and its user.
#[derive(Clone, Default)]
pub(super) struct Meter(Arc<Mutex<Option<Armed>>>);

struct Armed {
    gate: Option<SendGate>,
    trace: Trace,
}

impl Meter {
    /// The next write is the first of this request.
    pub(super) fn arm(&self, gate: Option<SendGate>, trace: Trace) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Armed { gate, trace });
    }

    fn before_write(&self) -> io::Result<()> {
        let armed = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Armed { gate, trace }) = armed else {
            return Ok(());
        };
        trace.pass(gate.as_ref()).map_err(io::Error::other)
    }
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meter")
    }
}

/// A stream whose first write of each request is metered.
pub(super) struct Metered<S> {
    stream: S,
    meter: Meter,
}

impl<S> Metered<S> {
    pub(super) fn new(stream: S, meter: Meter) -> Self {
        Self { stream, meter }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !buf.is_empty() {
            self.meter.before_write()?;
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if bufs.iter().any(|buf| !buf.is_empty()) {
            self.meter.before_write()?;
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[tokio::test]
    async fn a_request_is_marked_by_its_first_byte_and_not_before() {
        let meter = Meter::default();
        let mut stream = Metered::new(Vec::new(), meter.clone());
        let trace = Trace::default();
        meter.arm(None, trace.clone());
        assert_eq!(stream.write(b"").await.unwrap(), 0);
        let nothing = [io::IoSlice::new(b"")];
        assert_eq!(stream.write_vectored(&nothing).await.unwrap(), 0);
        assert!(!trace.left());
        stream.write_all(b"P").await.unwrap();
        assert!(trace.left());
        let next = Trace::default();
        meter.arm(None, next.clone());
        assert!(
            !next.left(),
            "the next request on the connection has its own"
        );
    }

    #[tokio::test]
    async fn of_a_request_that_was_given_up_no_byte_is_written() {
        let meter = Meter::default();
        for vectored in [false, true] {
            let mut stream = Metered::new(Vec::new(), meter.clone());
            let trace = Trace::default();
            meter.arm(None, trace.clone());
            assert!(!trace.close());
            let written = if vectored {
                stream.write_vectored(&[io::IoSlice::new(b"P")]).await
            } else {
                stream.write(b"P").await
            };
            assert!(written.is_err() && !trace.left());
            assert!(stream.stream.is_empty());
        }
    }
}
