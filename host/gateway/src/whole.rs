//! Reading the body of a response, of which a server says how it is cut up.
//!
//! No piece is kept as it came: each has a buffer behind it that is many times
//! as large as a short piece.

use std::pin::pin;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Body;

/// Why there is no whole body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It has more bytes than it may have.
    TooLarge,
    /// It broke off.
    Closed,
}

/// A body of at most `most` bytes, in one piece.
///
/// # Errors
/// [`Broken`], as its variants say; the rest of it is not read then.
pub(crate) async fn read<B>(body: B, most: usize) -> Result<Bytes, Broken>
where
    B: Body<Data = Bytes>,
{
    let mut whole = BytesMut::new();
    each(body, most, |piece| whole.extend_from_slice(piece)).await?;
    Ok(whole.freeze())
}

/// Reads what nobody needs; false where that has more than `most` bytes or
/// breaks off, and then it is not read to its end.
pub(crate) async fn discard<B>(body: B, most: usize) -> bool
where
    B: Body<Data = Bytes>,
{
    each(body, most, |_| {}).await.is_ok()
}

async fn each<B>(body: B, most: usize, mut take: impl FnMut(&[u8])) -> Result<(), Broken>
where
    B: Body<Data = Bytes>,
{
    let mut body = pin!(body);
    let mut left = most;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Broken::Closed)?;
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        left = left.checked_sub(piece.len()).ok_or(Broken::TooLarge)?;
        take(&piece);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll};

    use hyper::body::Frame;

    use super::*;

    /// A body of pieces, which knows how many of them somebody still has.
    struct Pieces {
        left: usize,
        size: usize,
        breaks: bool,
        had: Arc<()>,
        /// At the most.
        held: usize,
    }

    /// A piece of a body, held as long as any of its bytes.
    struct Piece(Vec<u8>, #[allow(dead_code, reason = "held")] Arc<()>);

    impl AsRef<[u8]> for Piece {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Pieces {
        fn of(left: usize, size: usize, breaks: bool) -> Self {
            Self {
                left,
                size,
                breaks,
                had: Arc::default(),
                held: 0,
            }
        }
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
            self.held = self.held.max(Arc::strong_count(&self.had) - 1);
            if self.left == 0 {
                let broken = self.breaks.then(|| Err(io::Error::other("broken")));
                return Poll::Ready(broken);
            }
            self.left -= 1;
            let byte = u8::try_from(self.left % 251).unwrap();
            let piece = Piece(vec![byte; self.size], Arc::clone(&self.had));
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(piece)))))
        }
    }

    const MOST: usize = 1_000;

    #[tokio::test]
    async fn a_body_is_read_whole_or_not_and_no_piece_of_it_is_kept() {
        for (pieces, size) in [
            (0, 0),
            (1, 1),
            (1, MOST),
            (1, MOST + 1),
            (2, MOST / 2),
            (2, MOST / 2 + 1),
            (MOST, 1),
            (MOST + 1, 1),
            (100 * MOST, 0),
        ] {
            for breaks in [false, true] {
                let why = format!("{pieces} of {size} bytes, broken: {breaks}");
                let expected = if pieces * size > MOST {
                    Err(Broken::TooLarge)
                } else if breaks {
                    Err(Broken::Closed)
                } else {
                    Ok(pieces * size)
                };
                let mut body = Pieces::of(pieces, size, breaks);
                let read = read(&mut body, MOST).await;
                if let Ok(read) = &read {
                    let order = (0..pieces).rev().map(|left| left % 251);
                    let bytes: Vec<u8> = order
                        .flat_map(|left| vec![u8::try_from(left).unwrap(); size])
                        .collect();
                    assert_eq!(read, &bytes, "{why}");
                }
                assert_eq!(read.map(|read| read.len()), expected, "{why}");
                assert!(body.held <= 1, "{why}: {} are kept", body.held);

                let mut body = Pieces::of(pieces, size, breaks);
                assert_eq!(discard(&mut body, MOST).await, expected.is_ok(), "{why}");
                assert!(body.held <= 1, "{why}: {} are kept", body.held);
            }
        }
    }
}
