//! A plain HTTP client for the user's servers: one request per connection.

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// An address and a path on a server.
#[derive(Clone, Debug)]
pub struct Endpoint {
    host: String,
    port: Option<u16>,
    path: String,
}

/// A response with any status.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: StatusCode,
    /// The body.
    pub body: Bytes,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The path with its query string, from the first slash.
    pub path: &'a str,
    /// The content type and the text to post; `None` for a GET.
    pub body: Option<(&'static str, &'a str)>,
    /// How long the response may take.
    pub patience: Duration,
    /// The size limit of the response, in bytes.
    pub most: usize,
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let uri: Uri = text.parse().map_err(|error| format!("{error}"))?;
        if uri.scheme_str() != Some("http") {
            return Err(
                "it must begin with http://; a proxy on this host can pass it on by https"
                    .to_owned(),
            );
        }
        let host = uri.host().filter(|host| !host.is_empty());
        Ok(Self {
            host: host.ok_or("it names no host")?.to_owned(),
            port: uri.port_u16(),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "http://{}", self.host)?;
        if let Some(port) = self.port {
            write!(out, ":{port}")?;
        }
        out.write_str(&self.path)
    }
}

impl Endpoint {
    /// Fills in the port and the path if they are missing.
    #[must_use]
    pub fn or(self, port: u16, path: &str) -> Self {
        Self {
            port: self.port.or(Some(port)),
            path: match self.path.as_str() {
                "" => path.to_owned(),
                _ => self.path,
            },
            host: self.host,
        }
    }

    /// The path: empty, or begins with a slash and ends without one.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Sends a request and waits for the whole response.
    ///
    /// # Errors
    /// The server cannot be reached, or its response is too long or too late.
    pub fn ask(&self, question: Question<'_>) -> Result<Answer> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .context("starting the client")?;
        let patience = question.patience;
        let sent = runtime.block_on(async { timeout(patience, self.send(question)).await });
        sent.unwrap_or_else(|_| Err(anyhow!("no answer within {} s", patience.as_secs())))
    }

    async fn send(&self, question: Question<'_>) -> Result<Answer> {
        let port = self.port.unwrap_or(80);
        let address = (self.host.trim_matches(['[', ']']), port);
        let stream = TcpStream::connect(address).await.context("connecting")?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // The task ends with the sender, which also reports its errors.
        tokio::spawn(connection);
        let request = match question.body {
            None => Request::get(question.path),
            Some((content, _)) => Request::post(question.path).header(CONTENT_TYPE, content),
        };
        let body = question.body.map_or("", |(_, text)| text);
        let request = request
            .header(HOST, format!("{}:{port}", self.host))
            .body(Full::new(Bytes::from(body.to_owned())))?;
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), question.most)
            .collect()
            .await;
        let body = body.map_err(|error| anyhow!("reading the answer: {error}"))?;
        Ok(Answer {
            status,
            body: body.to_bytes(),
        })
    }
}

/// Names and values, encoded as an HTML form sends them.
#[cfg(any(feature = "fleet", test))]
#[must_use]
pub fn form(fields: &[(&str, &str)]) -> String {
    let escaped = |text: &str| -> String {
        let kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        let one = |byte: u8| match kept(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        };
        text.bytes().map(one).collect()
    };
    let pair = |(name, value): &(&str, &str)| format!("{}={}", escaped(name), escaped(value));
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_escapes_what_would_part_it() {
        let text = form(&[("match[]", "a{b=\"c&d\"}"), ("x", "1.5 ü")]);
        assert_eq!(text, "match%5B%5D=a%7Bb%3D%22c%26d%22%7D&x=1.5%20%C3%BC");
    }

    #[test]
    fn an_endpoint_has_a_port_and_a_path_unless_it_names_others() {
        let text = |word: &str| {
            let endpoint = word.parse::<Endpoint>();
            endpoint.map(|it| it.or(4318, "/v1/metrics").to_string())
        };
        let usual = Ok("http://box:4318/v1/metrics".to_owned());
        assert_eq!(text("http://box"), usual);
        assert_eq!(text("http://box:4318/"), usual);
        let other = "http://[::1]:9090/otlp";
        assert_eq!(text(other), Ok(other.to_owned()));
        for bad in ["box:4318", "https://box", "/v1/metrics", "http://"] {
            assert!(text(bad).is_err(), "{bad}");
        }
    }
}
