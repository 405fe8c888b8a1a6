//! A server that speaks as the providers of models do: Anthropic Messages, OpenAI Responses, chat
//! completions. What it says is a [`models::script`], faults included. It checks every request by
//! the rules of its format; [`ModelServer::verdict`] tells what broke them.

mod check;
mod http;
mod say;
mod speech;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use models::script::{FaultKind, Play, Player, Script, ScriptError};
use serde_json::{Value, json};

use http::Connection;
use speech::Frame;

/// A format that is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Responses.
    Responses,
    /// Chat completions.
    Chat,
}

impl Format {
    /// By the end of the path that is asked for.
    fn of(path: &str) -> Option<Self> {
        match path.trim_start_matches("/v1") {
            "/messages" => Some(Self::Messages),
            "/responses" => Some(Self::Responses),
            "/chat/completions" => Some(Self::Chat),
            _ => None,
        }
    }
}

/// A request, as it came.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// `POST`.
    pub method: String,
    /// Without its query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Null where there was none.
    pub body: Value,
    /// How many bytes it had.
    pub bytes: usize,
    /// When all of it was there.
    pub at: Instant,
    /// When all of its answer was sent, if it has one.
    pub answered: Option<Instant>,
}

impl Recorded {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// A running server. Dropped, it stops.
pub struct ModelServer {
    address: SocketAddr,
    authority: Option<String>,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    over: AtomicBool,
    tls: Option<Arc<rustls::ServerConfig>>,
}

struct State {
    player: Player,
    requests: Vec<Recorded>,
    wrong: Vec<String>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request; its place among all.
    fn note(&self, recorded: Recorded) -> usize {
        let mut state = self.lock();
        state.requests.push(recorded);
        state.requests.len() - 1
    }

    fn note_answered(&self, at: usize) {
        if let Some(recorded) = self.lock().requests.get_mut(at) {
            recorded.answered = Some(Instant::now());
        }
    }
}

impl ModelServer {
    /// Plays this script on a port of this machine.
    #[must_use]
    #[track_caller]
    pub fn start(script: &str) -> Self {
        Self::serve(script, None, None)
    }

    /// The same over TLS, with a certificate for these names of an authority that nobody trusts
    /// yet: [`Self::authority`].
    #[must_use]
    #[track_caller]
    pub fn start_encrypted(script: &str, names: &[&str]) -> Self {
        let (authority, config) = certify(names).expect("a certificate can be made");
        Self::serve(script, Some(config), Some(authority))
    }

    #[track_caller]
    fn serve(
        script: &str,
        tls: Option<Arc<rustls::ServerConfig>>,
        authority: Option<String>,
    ) -> Self {
        let script = Script::parse(script).unwrap_or_else(|error| panic!("{error}"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("there is a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let player = Player::new(script);
        let state = Mutex::new(State { player, requests: Vec::new(), wrong: Vec::new() });
        let shared = Arc::new(Shared { state, over: AtomicBool::new(false), tls });
        let other = Arc::clone(&shared);
        let accepting = Some(std::thread::spawn(move || accept(&listener, &other)));
        Self { address, authority, shared, accepting }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`, or with `https`.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate of the authority that vouches for it, as PEM.
    #[must_use]
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// All requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.lock().requests.clone()
    }

    /// The requests for an answer.
    #[must_use]
    pub fn asked(&self) -> Vec<Recorded> {
        let mut requests = self.requests();
        requests.retain(|request| Format::of(&request.path).is_some());
        requests
    }

    /// Whether every turn of the script was played or passed over.
    #[must_use]
    pub fn is_at_its_end(&self) -> bool {
        self.shared.lock().player.is_at_its_end()
    }

    /// Whether every request kept the rules of its format and was what the script expects; if not,
    /// what was wrong.
    pub fn verdict(&self) -> Result<(), String> {
        let wrong = &self.shared.lock().wrong;
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for a connection.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
    }
}

fn certify(
    names: &[&str],
) -> Result<(String, Arc<rustls::ServerConfig>), Box<dyn std::error::Error>> {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key)?.pem();
    let issuer = Issuer::new(params, key);
    let leaf_key = KeyPair::generate()?;
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let leaf = CertificateParams::new(names)?.signed_by(&leaf_key, &issuer)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.der().clone()],
            rustls::pki_types::PrivatePkcs8KeyDer::from(leaf_key.serialize_der()).into(),
        )?;
    Ok((authority, Arc::new(config)))
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // A client that leaves ends its thread; what went wrong shows in its test.
        std::thread::spawn(move || drop(converse(stream, &shared)));
    }
}

fn converse(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut connection = Connection::new(stream, shared.tls.clone())?;
    // Letting go of one takes time, which is not to be taken from a client that is measured.
    let mut all = Vec::new();
    while let Some(asked) = connection.read()? {
        let recorded = asked.recorded();
        let at = shared.note(recorded.clone());
        let goes_on = respond(&mut connection, &recorded, shared)?;
        shared.note_answered(at);
        all.push(recorded);
        if !goes_on {
            return connection.close();
        }
    }
    Ok(())
}

/// Answers one request; whether the connection goes on.
fn respond(to: &mut Connection, recorded: &Recorded, shared: &Shared) -> io::Result<bool> {
    let Some(format) = Format::of(&recorded.path) else {
        return beside(to, recorded).map(|()| true);
    };
    let play = match judge(format, recorded, shared) {
        Ok(play) => play,
        Err(error) => {
            let text = error.to_string();
            shared.lock().wrong.push(text.clone());
            let body = say::error(format, "invalid_request_error", &text);
            return to.json(400, &[], &body).map(|()| true);
        }
    };
    std::thread::sleep(play.delay);
    let fault = play.fault.map(|fault| fault.kind);
    if let Some((status, kind)) = fault.and_then(refusal) {
        let body = say::error(format, kind, "scripted");
        let after = play.fault.and_then(|fault| fault.after);
        let after = after.map(|after| ("retry-after-ms", after.as_millis().to_string()));
        return to.json(status, after.as_slice(), &body).map(|()| true);
    }
    match fault {
        Some(FaultKind::Reset) => return Ok(false),
        Some(FaultKind::Silent) => return to.wait_for_its_end(&shared.over).map(|()| false),
        _ => {}
    }
    let model = recorded.body.get("model").and_then(Value::as_str).unwrap_or("model");
    let streams = recorded.body.get("stream") == Some(&json!(true));
    if !streams || fault == Some(FaultKind::Unstreamed) {
        return to.json(200, &[], &say::whole(format, model, &play)).map(|()| true);
    }
    stream(to, format, say::frames(format, model, &play), &play)
}

/// What else clients ask for.
fn beside(to: &mut Connection, asked: &Recorded) -> io::Result<()> {
    match (asked.method.as_str(), asked.path.as_str()) {
        ("POST", "/v1/messages/count_tokens") => {
            to.json(200, &[], &json!({ "input_tokens": asked.bytes / 4 }))
        }
        ("GET", "/v1/models" | "/models") => {
            let models = json!([{ "id": "scripted", "object": "model", "type": "model" }]);
            to.json(200, &[], &json!({ "object": "list", "data": models, "has_more": false }))
        }
        ("GET", "/api/tags") => {
            to.json(200, &[], &json!({ "models": [{ "name": "scripted:1b" }] }))
        }
        _ => to.json(404, &[], &json!({ "error": { "type": "not_found_error", "message": "no" } })),
    }
}

fn judge(format: Format, asked: &Recorded, shared: &Shared) -> Result<Play, ScriptError> {
    let (request, wrong) = check::check(format, asked);
    let mut state = shared.lock();
    let at = state.requests.len();
    state.wrong.extend(wrong.into_iter().map(|wrong| format!("request {at}: {wrong}")));
    let model = asked.body.get("model").and_then(Value::as_str).unwrap_or_default();
    state.player.play(model, &request)
}

fn refusal(fault: FaultKind) -> Option<(u16, &'static str)> {
    Some(match fault {
        FaultKind::RateLimit => (429, "rate_limit_error"),
        FaultKind::ServerError => (500, "api_error"),
        FaultKind::Overloaded => (529, "overloaded_error"),
        FaultKind::Unauthorized => (401, "authentication_error"),
        FaultKind::TooLong => (400, "context_length_exceeded"),
        _ => return None,
    })
}

fn stream(
    to: &mut Connection,
    format: Format,
    mut frames: Vec<Frame>,
    play: &Play,
) -> io::Result<bool> {
    let fault = play.fault.map(|fault| fault.kind);
    let middle = frames.len() / 2;
    match fault {
        Some(FaultKind::Disconnect) => frames.truncate(middle.max(1)),
        Some(FaultKind::HalfEvent) => {
            frames.truncate(middle.max(1) + 1);
            if let Some(last) = frames.last_mut() {
                last.halve();
            }
        }
        Some(FaultKind::Malformed) => frames.insert(middle, Frame::raw("data: {\"type\": \n\n")),
        Some(FaultKind::ErrorEvent) => {
            frames.truncate(middle);
            frames.push(say::error_frame(format));
        }
        Some(FaultKind::OverloadedEvent) => frames = vec![say::error_frame(format)],
        Some(FaultKind::UnknownEvents) => {
            let unknown =
                Frame::raw(": a comment\n\nevent: future\ndata: {\"type\":\"future.event\"}\n\n");
            frames = frames.into_iter().flat_map(|frame| [unknown.clone(), frame]).collect();
        }
        _ => {}
    }
    to.begin_stream()?;
    for frame in &frames {
        std::thread::sleep(play.pace);
        match fault {
            Some(FaultKind::Split) => {
                for byte in frame.bytes() {
                    to.chunk(&[*byte])?;
                }
            }
            _ => to.chunk(frame.bytes())?,
        }
    }
    if fault == Some(FaultKind::Disconnect) {
        // What was written shall arrive before the connection ends.
        std::thread::sleep(Duration::from_millis(1));
        return Ok(false);
    }
    to.end_stream().map(|()| true)
}
