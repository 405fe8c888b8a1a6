//! Heads of HTTP/1 messages: hostile bytes → [`RequestHead`], [`ResponseHead`]. No I/O.
//!
//! One reading, the strictest of RFC 9112: what two parsers could read differently is refused,
//! never repaired. Lines end in CR LF and nothing else; names touch their colon; no folding; no
//! control bytes; one way to say how long a body is. What is sent on is written anew from the
//! typed head, never copied from the bytes that came.

use std::fmt::Write as _;

use names::{NameError, Port};

use super::authority::Authority;

/// Largest head of a message, in bytes.
pub const MAX_HEAD: usize = 64 * 1024;
/// Most fields of a head.
const MAX_FIELDS: usize = 512;
const MAX_METHOD: usize = 32;

/// Why bytes are not an HTTP/1 message that means one thing only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// Longer than [`MAX_HEAD`].
    #[error("the head is larger than 64 KiB")]
    HeadTooLarge,
    /// CR without LF, LF without CR, NUL or another control byte.
    #[error("the head has a control byte or a bare line end")]
    ControlByte,
    /// Not `METHOD TARGET HTTP/1.x`.
    #[error("the request line is not one")]
    RequestLine,
    /// Not `HTTP/1.x CODE REASON`.
    #[error("the status line is not one")]
    StatusLine,
    /// HTTP/2 without TLS, HTTP/0.9 and all others.
    #[error("the version is neither HTTP/1.0 nor HTTP/1.1")]
    Version,
    /// Not a path, nor a URL, nor what the method takes.
    #[error("the target of the request is not one")]
    Target,
    /// `https://…` asked of a proxy without CONNECT.
    #[error("an https URL in a plain request; use CONNECT")]
    HttpsInPlain,
    /// No colon, white space before it, or a byte that a name can't have.
    #[error("a field has no proper name")]
    FieldName,
    /// A line that continues the one before it.
    #[error("a field is folded")]
    Folded,
    /// More than [`MAX_FIELDS`].
    #[error("the head has too many fields")]
    TooManyFields,
    /// None, or several.
    #[error("there is not exactly one host field")]
    HostField,
    /// A host that isn't one.
    #[error("{0}")]
    Name(#[from] NameError),
    /// Two lengths, a list, a sign, or no number.
    #[error("the length of the body is not one number")]
    Length,
    /// A coding other than `chunked`, alone and once.
    #[error("the transfer coding is not exactly chunked")]
    Coding,
    /// A length and a coding together.
    #[error("both a length and a transfer coding")]
    LengthAndCoding,
    /// A protocol other than a websocket is asked for, such as h2c.
    #[error("an upgrade to another protocol than websocket")]
    Upgrade,
    /// A chunk that isn't one.
    #[error("a chunk of the body is malformed")]
    Chunk,
    /// A head that was begun and not finished.
    #[error("the request took too long to come")]
    Slow,
    /// The bytes ended within a message.
    #[error("the message ended in its middle")]
    Cut,
}

/// Which HTTP/1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// RFC 1945.
    Http10,
    /// RFC 9112.
    Http11,
}

impl Version {
    fn parse(text: &[u8]) -> Result<Self, HttpError> {
        match text {
            b"HTTP/1.1" => Ok(Self::Http11),
            b"HTTP/1.0" => Ok(Self::Http10),
            _ => Err(HttpError::Version),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        }
    }
}

/// What a request is about (RFC 9112 section 3.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A path with or without a query.
    Origin(String),
    /// `http://AUTHORITY/PATH`, as proxies are asked.
    Absolute(Authority, String),
    /// `HOST:PORT`, of CONNECT.
    Connect(Authority),
    /// `*`, of OPTIONS.
    Server,
}

/// One field. Its value has no control byte but tabs, and no white space around it.
#[derive(Clone, PartialEq, Eq)]
pub struct Field {
    /// The name, as sent.
    pub name: String,
    /// The value, as sent.
    pub value: Vec<u8>,
}

/// Without the value, which may be a secret.
impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: [{} bytes]", self.name, self.value.len())
    }
}

impl Field {
    /// Is its name this one, whatever the case?
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The members of a value that is a list of tokens, lower case.
    fn tokens(&self) -> impl Iterator<Item = String> {
        let trim = |token: &[u8]| String::from_utf8_lossy(token).trim().to_ascii_lowercase();
        self.value.split(|byte| *byte == b',').map(trim).filter(|token| !token.is_empty())
    }
}

/// How long a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    None,
    /// So many bytes.
    Length(u64),
    /// In chunks.
    Chunked,
    /// Until the sender closes; of responses only.
    UntilClose,
}

/// The head of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// The method: a token.
    pub method: String,
    /// What it is about.
    pub target: Target,
    /// The version.
    pub version: Version,
    /// The fields, in their order.
    pub fields: Vec<Field>,
    /// The value of `Host`; none in a CONNECT of HTTP/1.0 and in an absolute request without it.
    pub host: Option<Authority>,
    /// How long the body is.
    pub framing: Framing,
    /// Whether a websocket is asked for.
    pub websocket: bool,
}

/// The head of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status, 100 to 599.
    pub status: u16,
    /// The phrase.
    pub reason: String,
    /// The version.
    pub version: Version,
    /// The fields, in their order.
    pub fields: Vec<Field>,
    /// How long the body is, if the request was not HEAD.
    pub framing: Framing,
}

impl RequestHead {
    /// Reads the head at the start of `bytes` and says how long it is; `None` if it isn't whole.
    ///
    /// `default` is the port of an authority that names none.
    pub fn parse(bytes: &[u8], default: Port) -> Result<Option<(Self, usize)>, HttpError> {
        let Some((lines, length)) = split_head(bytes)? else { return Ok(None) };
        let mut lines = lines.into_iter();
        let (method, target, version) = request_line(lines.next().unwrap_or_default(), default)?;
        let fields = fields(lines)?;
        let host = host(&fields, default)?;
        let needs_host = version == Version::Http11 || matches!(target, Target::Origin(_));
        if needs_host && host.is_none() {
            return Err(HttpError::HostField);
        }
        let framing = framing(&fields, version)?.unwrap_or(Framing::None);
        let websocket = websocket(&fields)?;
        Ok(Some((Self { method, target, version, fields, host, framing, websocket }, length)))
    }

    /// Does the client want the connection to end after this request?
    #[must_use]
    pub fn closes(&self) -> bool {
        closes(&self.fields, self.version)
    }

    /// The path to ask about and to send: `*` for the server as a whole.
    #[must_use]
    pub fn path(&self) -> &str {
        match &self.target {
            Target::Origin(path) | Target::Absolute(_, path) => path,
            Target::Server => "*",
            Target::Connect(_) => "",
        }
    }

    /// The head as it is sent on: to `host` alone, without what is for this hop only and without
    /// any credential for a proxy.
    #[must_use]
    pub fn onward(&self, host: &Authority) -> Vec<u8> {
        let mut text = Vec::with_capacity(512);
        let version = self.version.word();
        text.extend(
            format!("{} {} {version}\r\nHost: {host}\r\n", self.method, self.path()).bytes(),
        );
        put_fields(&mut text, &self.fields, |field| field.is("host"));
        put_framing(&mut text, self.framing);
        let hop: &[u8] = match (self.websocket, self.closes()) {
            (true, _) => b"Connection: Upgrade\r\nUpgrade: websocket\r\n",
            (false, true) => b"Connection: close\r\n",
            (false, false) => b"",
        };
        text.extend(hop);
        text.extend(b"\r\n");
        text
    }
}

impl ResponseHead {
    /// Reads the head at the start of `bytes` and says how long it is; `None` if it isn't whole.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, HttpError> {
        let Some((lines, length)) = split_head(bytes)? else { return Ok(None) };
        let mut lines = lines.into_iter();
        let (version, status, reason) = status_line(lines.next().unwrap_or_default())?;
        let fields = fields(lines)?;
        let stated = framing(&fields, version)?;
        let framing = match status {
            100..=199 | 204 | 304 => Framing::None,
            _ => stated.unwrap_or(Framing::UntilClose),
        };
        Ok(Some((Self { status, reason, version, fields, framing }, length)))
    }

    /// Will the server close the connection after this response?
    #[must_use]
    pub fn closes(&self) -> bool {
        self.framing == Framing::UntilClose || closes(&self.fields, self.version)
    }

    /// The head as it is passed to the client. `framing` is that of the body that follows.
    #[must_use]
    pub fn onward(&self, framing: Framing, ending: Ending) -> Vec<u8> {
        let mut text = Vec::with_capacity(512);
        let version = self.version.word();
        text.extend(format!("{version} {} {}\r\n", self.status, self.reason).bytes());
        // What a response to HEAD, or a 304, says of a length is about a body that isn't sent.
        let about_length = |field: &Field| field.is("content-length") && framing == Framing::None;
        put_fields(&mut text, &self.fields, |_| false);
        for field in self.fields.iter().filter(|field| about_length(field) && self.status != 204) {
            put_field(&mut text, field);
        }
        put_framing(&mut text, framing);
        text.extend(match ending {
            Ending::Close => b"Connection: close\r\n".as_slice(),
            Ending::Websocket => b"Connection: Upgrade\r\nUpgrade: websocket\r\n",
            Ending::Stay => b"",
        });
        text.extend(b"\r\n");
        text
    }
}

/// What becomes of a connection after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The next request may come.
    Stay,
    /// It is closed.
    Close,
    /// It carries a websocket.
    Websocket,
}

/// The lines of a head without their ends, and the length of the whole; `None` if the empty line
/// has not come yet. Control bytes are found as early as they come.
#[expect(clippy::type_complexity, reason = "a pair that is taken apart at once")]
fn split_head(bytes: &[u8]) -> Result<Option<(Vec<&[u8]>, usize)>, HttpError> {
    let mut lines = Vec::new();
    let mut rest = bytes.get(..MAX_HEAD).unwrap_or(bytes);
    let mut length = 0;
    while let Some(at) = rest.iter().position(|byte| is_control(*byte)) {
        let (line, after) = rest.split_at_checked(at).unwrap_or_default();
        if after == b"\r" {
            break;
        }
        rest = after.strip_prefix(b"\r\n").ok_or(HttpError::ControlByte)?;
        length += at + 2;
        if line.is_empty() && !lines.is_empty() {
            return Ok(Some((lines, length)));
        }
        if lines.len() > MAX_FIELDS {
            return Err(HttpError::TooManyFields);
        }
        lines.push(line);
    }
    if bytes.len() >= MAX_HEAD { Err(HttpError::HeadTooLarge) } else { Ok(None) }
}

/// Whether a head of which `seen` bytes were read before may be whole now, or be known not to
/// become one. Reading it again for every byte that comes would be work for nothing.
pub(crate) fn is_worth_reading(bytes: &[u8], seen: usize) -> bool {
    bytes.len() >= MAX_HEAD || bytes.get(seen..).is_some_and(|new| new.contains(&b'\n'))
}

fn is_control(byte: u8) -> bool {
    byte < b' ' && byte != b'\t' || byte == 0x7f
}

/// RFC 9110 section 5.6.2.
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn request_line(line: &[u8], default: Port) -> Result<(String, Target, Version), HttpError> {
    let parts: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let [method, target, version] = parts.as_slice() else { return Err(HttpError::RequestLine) };
    let is_method = (1..=MAX_METHOD).contains(&method.len()) && method.iter().all(|b| is_token(*b));
    if !is_method {
        return Err(HttpError::RequestLine);
    }
    let version = Version::parse(version)?;
    let method = String::from_utf8_lossy(method).into_owned();
    let graphic = |byte: &u8| byte.is_ascii_graphic() && *byte != b'#';
    let target = Some(*target).filter(|target| target.iter().all(graphic));
    let target = target.and_then(|target| str::from_utf8(target).ok()).ok_or(HttpError::Target)?;
    Ok((method.clone(), read_target(&method, target, default)?, version))
}

fn read_target(method: &str, target: &str, default: Port) -> Result<Target, HttpError> {
    if method == "CONNECT" {
        return Ok(Target::Connect(Authority::parse_with_port(target)?));
    }
    if target.starts_with('/') {
        return Ok(Target::Origin(target.to_owned()));
    }
    if target == "*" && method == "OPTIONS" {
        return Ok(Target::Server);
    }
    let (scheme, rest) = target.split_once("://").ok_or(HttpError::Target)?;
    if scheme.eq_ignore_ascii_case("https") {
        return Err(HttpError::HttpsInPlain);
    }
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(HttpError::Target);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).ok_or(HttpError::Target)?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok(Target::Absolute(Authority::parse(authority, default)?, format!("{slash}{path}")))
}

fn status_line(line: &[u8]) -> Result<(Version, u16, String), HttpError> {
    let text = String::from_utf8_lossy(line);
    let (version, rest) = text.split_once(' ').ok_or(HttpError::StatusLine)?;
    let version = Version::parse(version.as_bytes())?;
    let (code, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_code = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit());
    let status = code.parse().ok().filter(|status| is_code && (100..=599).contains(status));
    let reason = reason.chars().filter(char::is_ascii).collect();
    Ok((version, status.ok_or(HttpError::StatusLine)?, reason))
}

fn fields<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Field>, HttpError> {
    lines.map(field).collect()
}

pub(super) fn field(line: &[u8]) -> Result<Field, HttpError> {
    if line.starts_with(b" ") || line.starts_with(b"\t") {
        return Err(HttpError::Folded);
    }
    let colon = line.iter().position(|byte| *byte == b':').ok_or(HttpError::FieldName)?;
    let (name, value) = line.split_at_checked(colon).ok_or(HttpError::FieldName)?;
    if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
        return Err(HttpError::FieldName);
    }
    let value = value.get(1..).unwrap_or_default();
    let space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !space(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !space(byte)).map_or(start, |last| last + 1);
    let value = value.get(start..end).unwrap_or_default().to_vec();
    Ok(Field { name: String::from_utf8_lossy(name).into_owned(), value })
}

fn all<'a>(fields: &'a [Field], name: &str) -> Vec<&'a Field> {
    fields.iter().filter(|field| field.is(name)).collect()
}

fn host(fields: &[Field], default: Port) -> Result<Option<Authority>, HttpError> {
    match all(fields, "host").as_slice() {
        [] => Ok(None),
        [field] => {
            let text = str::from_utf8(&field.value).map_err(|_| HttpError::HostField)?;
            Ok(Some(Authority::parse(text, default)?))
        }
        _ => Err(HttpError::HostField),
    }
}

/// RFC 9112 section 6, less everything that it tells a lenient reader to put up with.
fn framing(fields: &[Field], version: Version) -> Result<Option<Framing>, HttpError> {
    let lengths = all(fields, "content-length");
    let codings = all(fields, "transfer-encoding");
    match (lengths.as_slice(), codings.as_slice()) {
        ([], []) => Ok(None),
        ([length], []) => Ok(Some(Framing::Length(decimal(&length.value)?))),
        ([], [coding]) => {
            let chunked = coding.value.eq_ignore_ascii_case(b"chunked");
            let known = chunked && version == Version::Http11;
            known.then_some(Some(Framing::Chunked)).ok_or(HttpError::Coding)
        }
        ([], _) => Err(HttpError::Coding),
        (_, []) => Err(HttpError::Length),
        _ => Err(HttpError::LengthAndCoding),
    }
}

/// Digits only, fewer than would overflow.
fn decimal(text: &[u8]) -> Result<u64, HttpError> {
    let digits = (1..=18).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    let number = str::from_utf8(text).ok().filter(|_| digits).and_then(|text| text.parse().ok());
    number.ok_or(HttpError::Length)
}

/// Whether a websocket is asked for. Any other upgrade would take the connection out of sight.
fn websocket(fields: &[Field]) -> Result<bool, HttpError> {
    if fields.iter().any(|field| field.is("http2-settings")) {
        return Err(HttpError::Upgrade);
    }
    match all(fields, "upgrade").as_slice() {
        [] => Ok(false),
        [field] if field.value.eq_ignore_ascii_case(b"websocket") => Ok(true),
        _ => Err(HttpError::Upgrade),
    }
}

fn closes(fields: &[Field], version: Version) -> bool {
    version == Version::Http10 || connection_tokens(fields).any(|token| token == "close")
}

fn connection_tokens(fields: &[Field]) -> impl Iterator<Item = String> {
    fields.iter().filter(|field| field.is("connection")).flat_map(Field::tokens)
}

/// Fields that are for one hop (RFC 9110 section 7.6.1), are written anew, or are a secret
/// between a client and its proxy.
const HOP: &[&str] = &[
    "connection",
    "proxy-connection",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "proxy-authorization",
    "proxy-authenticate",
    "proxy-authentication-info",
];

fn put_fields(text: &mut Vec<u8>, fields: &[Field], also: impl Fn(&Field) -> bool) {
    let named: Vec<String> = connection_tokens(fields).collect();
    let of_hop = |field: &Field| {
        HOP.iter().any(|name| field.is(name)) || named.iter().any(|name| field.is(name))
    };
    for field in fields.iter().filter(|field| !of_hop(field) && !also(field)) {
        put_field(text, field);
    }
}

fn put_field(text: &mut Vec<u8>, field: &Field) {
    text.extend(field.name.bytes());
    text.extend(b": ");
    text.extend(&field.value);
    text.extend(b"\r\n");
}

fn put_framing(text: &mut Vec<u8>, framing: Framing) {
    let mut line = String::new();
    // Writing to a String has no error.
    let _ = match framing {
        Framing::Length(length) => write!(line, "Content-Length: {length}\r\n"),
        Framing::Chunked => write!(line, "Transfer-Encoding: chunked\r\n"),
        Framing::None | Framing::UntilClose => Ok(()),
    };
    text.extend(line.bytes());
}
