//! Answers scrapes over HTTP/1.1. This is the only asynchronous code in the program: hyper implements the protocol, and
//! a slow client costs a timer instead of a thread.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::Full;
use hugewise_monitor::export::exposition::{Format, text};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::sampler::Sampler;
use crate::exit;
use crate::interrupt::Interrupt;
use crate::stderr::message;

/// The time limit for a client to send its request.
const REQUEST: Duration = Duration::from_secs(5);
/// The time limit of a connection.
const CONNECTION: Duration = Duration::from_secs(60);
/// The limit of simultaneous connections; more wait in the kernel's queue. An idle one takes some kilobytes.
const CONNECTIONS: usize = 512;
/// How often signals are checked.
const LOOK: Duration = Duration::from_millis(200);

/// Serves until a signal comes.
pub(super) fn serve(address: SocketAddr, sampler: Sampler, interrupt: &Interrupt) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .context("starting the server")?;
    runtime.block_on(listen(address, sampler, interrupt))
}

async fn listen(address: SocketAddr, sampler: Sampler, interrupt: &Interrupt) -> Result<()> {
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| exit::refused(format!("--listen {address}: {error}")))?;
    let address = listener.local_addr().context("the server's address")?;
    message(format_args!("metrics at http://{address}/metrics"));
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    while !interrupt.asked() {
        let Ok(Ok(place)) = timeout(LOOK, room.clone().acquire_owned()).await else {
            continue;
        };
        // A failed accept, such as of a client that has disconnected, affects only that client.
        let Ok(Ok((stream, _))) = timeout(LOOK, listener.accept()).await else {
            continue;
        };
        let sampler = sampler.clone();
        tokio::spawn(async move {
            let _ = timeout(CONNECTION, answer(stream, sampler)).await;
            drop(place);
        });
    }
    Ok(())
}

/// Gives no response to a client that disconnects or does not speak HTTP.
async fn answer(stream: TcpStream, sampler: Sampler) {
    let service = service_fn(move |request| {
        let sampler = sampler.clone();
        async move { Ok::<_, Infallible>(respond(&request, sampler).await) }
    });
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn respond(request: &Request<Incoming>, mut sampler: Sampler) -> Response<Full<Bytes>> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => {
            let format = format_of(request.headers().get(ACCEPT));
            let families = sampler.families().await;
            reply(StatusCode::OK, format.media_type(), text(&families, format))
        }
        (&Method::GET, "/") => plain(StatusCode::OK, "hugewise export: see /metrics\n"),
        (&Method::GET, _) => plain(StatusCode::NOT_FOUND, "there is only /metrics\n"),
        _ => {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET\n");
            let allowed = HeaderValue::from_static("GET");
            response.headers_mut().insert(ALLOW, allowed);
            response
        }
    }
}

/// The newer format if the client requests it.
fn format_of(accept: Option<&HeaderValue>) -> Format {
    let accept = accept.and_then(|accept| accept.to_str().ok());
    match accept {
        Some(accept) if accept.contains("application/openmetrics-text") => Format::OpenMetrics,
        _ => Format::Prometheus,
    }
}

fn plain(status: StatusCode, body: &str) -> Response<Full<Bytes>> {
    reply(status, "text/plain; charset=utf-8", body.to_owned())
}

fn reply(status: StatusCode, media_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let media_type = HeaderValue::from_static(media_type);
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_those_of_the_document() {
        let document = include_str!("../../../../../SECURITY.md");
        let limits = format!(
            "at most {CONNECTIONS} connections, {} s for a request",
            REQUEST.as_secs()
        );
        assert!(
            document.contains(&limits),
            "SECURITY.md does not say: {limits}"
        );
        let found = format!("larger than {} MiB", crate::file::LARGEST_FOUND >> 20);
        assert!(
            document.contains(&found),
            "SECURITY.md does not say: {found}"
        );
    }
}
