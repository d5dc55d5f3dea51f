//! A way to an upstream that can be shut: then connections are refused, and
//! those that were open end. Or nobody is behind it: connections are taken, and
//! nothing is ever said on them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub struct Door {
    behind: SocketAddr,
    address: SocketAddr,
    silence: Arc<Silence>,
    open: Option<(watch::Sender<()>, JoinHandle<()>)>,
}

/// What is said to whoever comes: nothing, and to how many.
#[derive(Default)]
struct Silence {
    begun: AtomicBool,
    met: AtomicUsize,
}

impl Door {
    /// Open, before an upstream.
    pub async fn before(behind: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let silence = Arc::<Silence>::default();
        let open = Some(serve(listener, behind, Arc::clone(&silence)));
        Self {
            behind,
            address,
            silence,
            open,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub async fn shut(&mut self) {
        let (shut, serving) = self.open.take().unwrap();
        drop(shut);
        serving.await.unwrap();
    }

    pub async fn open(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.open = Some(serve(listener, self.behind, Arc::clone(&self.silence)));
    }

    /// Says nothing any more to whoever comes from now on, or lets them through
    /// again.
    pub fn be_silent(&self, silent: bool) {
        self.silence.begun.store(silent, Ordering::SeqCst);
    }

    /// To how many nothing was said.
    pub fn silenced(&self) -> usize {
        self.silence.met.load(Ordering::SeqCst)
    }
}

fn serve(
    listener: TcpListener,
    behind: SocketAddr,
    silence: Arc<Silence>,
) -> (watch::Sender<()>, JoinHandle<()>) {
    let (open, mut shut) = watch::channel(());
    let serving = tokio::spawn(async move {
        loop {
            let mut stream = tokio::select! {
                accepted = listener.accept() => accepted.unwrap().0,
                _ = shut.changed() => return,
            };
            let mut shut = shut.clone();
            if silence.begun.load(Ordering::SeqCst) {
                silence.met.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    let _ = shut.changed().await;
                    drop(stream);
                });
                continue;
            }
            tokio::spawn(async move {
                let mut there = TcpStream::connect(behind).await.unwrap();
                tokio::select! {
                    _ = copy_bidirectional(&mut stream, &mut there) => {}
                    _ = shut.changed() => {}
                }
            });
        }
    });
    (open, serving)
}
