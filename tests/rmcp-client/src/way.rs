//! The way from a Unix socket to a TCP port.

use std::io;

use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpStream, UnixListener};
use tokio::task::JoinHandle;

/// Carries bytes for as long as it is held.
pub(crate) struct Way {
    socket: String,
    carrying: JoinHandle<()>,
    _folder: TempDir,
}

impl Way {
    /// Opens one to the host and port of an `http` URL.
    pub(crate) fn open(url: &str) -> io::Result<Self> {
        let rest = url.strip_prefix("http://").unwrap_or(url);
        let there = rest.split('/').next().unwrap_or_default().to_owned();
        let folder = tempfile::tempdir()?;
        let socket = folder.path().join("way");
        let listener = UnixListener::bind(&socket)?;
        let carrying = tokio::spawn(async move {
            while let Ok((mut here, _)) = listener.accept().await {
                let there = there.clone();
                tokio::spawn(async move {
                    if let Ok(mut there) = TcpStream::connect(there).await {
                        // Who goes away has what they wanted.
                        let _ = copy_bidirectional(&mut here, &mut there).await;
                    }
                });
            }
        });
        Ok(Self {
            socket: socket.display().to_string(),
            carrying,
            _folder: folder,
        })
    }

    /// Where it begins.
    pub(crate) fn socket(&self) -> &str {
        &self.socket
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.carrying.abort();
    }
}
