//! A way to an upstream that can be shut: then connections are refused, and
//! those that were open end.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub struct Door {
    behind: SocketAddr,
    address: SocketAddr,
    open: Option<(watch::Sender<()>, JoinHandle<()>)>,
}

impl Door {
    /// Open, before an upstream.
    pub async fn before(behind: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let open = Some(serve(listener, behind));
        Self {
            behind,
            address,
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
        self.open = Some(serve(listener, self.behind));
    }
}

fn serve(listener: TcpListener, behind: SocketAddr) -> (watch::Sender<()>, JoinHandle<()>) {
    let (open, mut shut) = watch::channel(());
    let serving = tokio::spawn(async move {
        loop {
            let mut stream = tokio::select! {
                accepted = listener.accept() => accepted.unwrap().0,
                _ = shut.changed() => return,
            };
            let mut shut = shut.clone();
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
