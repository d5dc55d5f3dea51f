//! A plain reverse proxy of the same HTTP stack: it streams bodies both ways
//! over connections that it keeps, and reads nothing.

use std::sync::{Arc, Mutex};

use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

/// Connections to the upstream that wait for a request.
type Idle = Arc<Mutex<Vec<SendRequest<Incoming>>>>;

/// Serves until it is killed.
pub(crate) fn serve(upstream: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening on http://{}", listener.local_addr().unwrap());
        let (idle, upstream) = (Idle::default(), Arc::<str>::from(upstream));
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let (idle, upstream) = (Arc::clone(&idle), Arc::clone(&upstream));
            tokio::spawn(async move {
                let service = service_fn(|request| {
                    forward(request, Arc::clone(&idle), Arc::clone(&upstream))
                });
                let http = hyper::server::conn::http1::Builder::new();
                let _ = http.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
}

async fn forward(
    mut request: Request<Incoming>,
    idle: Idle,
    upstream: Arc<str>,
) -> hyper::Result<Response<Incoming>> {
    let kept = idle.lock().unwrap().pop();
    let mut sender = match kept {
        Some(sender) if sender.is_ready() => sender,
        _ => connect(&upstream).await?,
    };
    let host = HeaderValue::from_str(&upstream).unwrap();
    request.headers_mut().insert(http::header::HOST, host);
    let response = sender.send_request(request).await?;
    // It is free again once the client has taken the body.
    tokio::spawn(async move {
        if sender.ready().await.is_ok() {
            idle.lock().unwrap().push(sender);
        }
    });
    Ok(response)
}

async fn connect(upstream: &str) -> hyper::Result<SendRequest<Incoming>> {
    let stream = TcpStream::connect(upstream).await.unwrap();
    let _ = stream.set_nodelay(true);
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}
