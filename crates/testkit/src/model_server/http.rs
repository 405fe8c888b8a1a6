//! HTTP/1.1 as far as clients of models use it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Recorded;

/// Largest head and body that are read.
const LARGEST_HEAD: usize = 256 << 10;
const LARGEST_BODY: usize = 64 << 20;

trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

/// One client's connection.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    socket: TcpStream,
    /// What was read and not used.
    buffer: Vec<u8>,
}

/// A request.
pub(super) struct Asked {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// When all of it was there.
    at: Instant,
}

impl Asked {
    pub(super) fn recorded(&self) -> Recorded {
        let path = self.path.split('?').next().unwrap_or_default();
        Recorded {
            method: self.method.clone(),
            path: path.to_owned(),
            headers: self.headers.clone(),
            body: serde_json::from_slice(&self.body).unwrap_or_default(),
            bytes: self.body.len(),
            at: self.at,
            answered: None,
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Connection {
    pub(super) fn new(
        socket: TcpStream,
        tls: Option<Arc<rustls::ServerConfig>>,
    ) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        let inner = socket.try_clone()?;
        let stream: Box<dyn Stream> = match tls {
            None => Box::new(inner),
            Some(config) => {
                let tls = rustls::ServerConnection::new(config).map_err(io::Error::other)?;
                Box::new(rustls::StreamOwned::new(tls, inner))
            }
        };
        Ok(Self { stream, socket, buffer: Vec::new() })
    }

    /// The next request; `None` if the client has left.
    pub(super) fn read(&mut self) -> io::Result<Option<Asked>> {
        let mut asked = loop {
            if let Some(asked) = self.head()? {
                break asked;
            }
            if self.buffer.len() > LARGEST_HEAD || !self.more()? {
                return Ok(None);
            }
        };
        if asked.header("expect").is_some() {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            self.stream.flush()?;
        }
        asked.body = self.body(&asked)?;
        asked.at = Instant::now();
        Ok(Some(asked))
    }

    fn head(&mut self) -> io::Result<Option<Asked>> {
        let mut headers = [httparse::EMPTY_HEADER; 128];
        let mut request = httparse::Request::new(&mut headers);
        let parsed = request.parse(&self.buffer).map_err(io::Error::other)?;
        let httparse::Status::Complete(length) = parsed else { return Ok(None) };
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let headers = request.headers.iter();
        let asked = Asked {
            method: request.method.unwrap_or_default().to_owned(),
            path: request.path.unwrap_or_default().to_owned(),
            headers: headers.map(|it| (it.name.to_lowercase(), text(it.value))).collect(),
            body: Vec::new(),
            at: Instant::now(),
        };
        self.buffer.drain(..length);
        Ok(Some(asked))
    }

    fn body(&mut self, asked: &Asked) -> io::Result<Vec<u8>> {
        if asked.header("transfer-encoding").is_some() {
            return self.chunks();
        }
        let length = asked.header("content-length").unwrap_or("0");
        self.exactly(length.trim().parse().map_err(io::Error::other)?)
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
            body.extend(self.exactly(size)?);
            self.line()?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if !self.more()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > LARGEST_BODY {
            return Err(io::Error::other("the body is too large"));
        }
        while self.buffer.len() < length {
            if !self.more()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn more(&mut self) -> io::Result<bool> {
        let mut piece = [0; 16 << 10];
        let length = self.stream.read(&mut piece)?;
        self.buffer.extend(piece.iter().take(length));
        Ok(length > 0)
    }

    /// A whole answer.
    pub(super) fn json(
        &mut self,
        status: u16,
        headers: &[(&str, String)],
        body: &Value,
    ) -> io::Result<()> {
        let body = body.to_string();
        let more = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let more: String = more.collect();
        let head = format!(
            "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n{more}\
             content-length: {}\r\n\r\n",
            body.len()
        );
        self.write(&[head.as_bytes(), body.as_bytes()].concat())
    }

    /// The head of an answer whose events follow.
    pub(super) fn begin_stream(&mut self) -> io::Result<()> {
        self.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
              transfer-encoding: chunked\r\n\r\n",
        )
    }

    pub(super) fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        let head = format!("{:x}\r\n", bytes.len());
        self.write(&[head.as_bytes(), bytes, b"\r\n"].concat())
    }

    pub(super) fn end_stream(&mut self) -> io::Result<()> {
        self.write(b"0\r\n\r\n")
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// Says nothing until the client leaves or the server stops.
    pub(super) fn wait_for_its_end(&mut self, over: &AtomicBool) -> io::Result<()> {
        self.socket.set_read_timeout(Some(Duration::from_millis(20)))?;
        while !over.load(Ordering::SeqCst) {
            match self.more() {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn close(&mut self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Both)
    }
}
