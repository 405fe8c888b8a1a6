//! A connection that is open to its destination, whichever way the client asked for it: by what
//! the client says first it stays opaque, is checked, or is opened.

use std::sync::Arc;
use std::time::Duration;

use names::Port;
use policy::Connect;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::ReadHalf;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::denial::{Denial, Whose};
use crate::first::Speech;
use crate::gate::Gate;
use crate::http::serve::{Conversation, Destination, Keep, converse};
use crate::intercept::{Again, Excuse, Handover, Intercept};
use crate::meter::{Metered, Replayed, Way};
use crate::record::{Ended, How, Via};
use crate::relay::{Broken, overdue, pass, pump};
use crate::requests::Requests;
use crate::session::Session;
use crate::tls;
use crate::tls::wire::{Alert, ClientHello};

/// HTTP without TLS.
pub(crate) const HTTP_PORT: u16 = 80;
/// Bytes that are read at a time while it isn't clear what they are.
const CHUNK: usize = 4 * 1024;
/// More than a hello that is no more than one record.
const MAX_FIRST_WORDS: usize = 20 * 1024;
/// How long a client that is refused has to say in which language.
const PATIENCE: Duration = Duration::from_secs(2);

/// Carries a connection to its end, and records it. `first` was read from the client already.
pub(crate) async fn serve(
    session: Session,
    client: TcpStream,
    upstream: TcpStream,
    first: Vec<u8>,
) {
    let ended = carry(&session, client, upstream, first).await;
    session.close(ended).await;
}

/// What to do with a connection, now that the client has spoken.
enum Course {
    /// It was carried to its end already.
    Over(Ended),
    /// Its requests are looked at.
    Http(Vec<u8>),
    /// It is opened by whoever can.
    Open(Arc<dyn Intercept>, ClientHello, Vec<u8>),
    /// It is refused, with these last bytes.
    Refuse(Vec<u8>, Ended),
}

async fn carry(
    session: &Session,
    mut client: TcpStream,
    mut upstream: TcpStream,
    first: Vec<u8>,
) -> Ended {
    let course = tokio::select! {
        course = tunnel(session, &mut client, &mut upstream, first) => course,
        ended = overdue(&session.gate, &session.meter) => Course::Over(ended),
    };
    match course {
        Course::Over(ended) => ended,
        Course::Refuse(answer, ended) => {
            farewell(&mut client, &answer).await;
            ended
        }
        Course::Http(first) => Box::pin(http(session, client, upstream, first)).await,
        Course::Open(intercept, hello, first) => {
            Box::pin(open(session, intercept, hello, Replayed::new(first, client), upstream)).await
        }
    }
}

/// Hands a connection over to whoever opens TLS.
async fn open(
    session: &Session,
    intercept: Arc<dyn Intercept>,
    hello: ClientHello,
    client: Replayed<TcpStream>,
    upstream: TcpStream,
) -> Ended {
    let handover = Handover {
        connect: session.connect().clone(),
        hello,
        client,
        upstream: Metered::new(upstream, session.meter.clone()),
        again: Again::of(session),
        ca_files: session.reach.ca_files.clone(),
        requests: session.requests(Port::HTTPS),
    };
    tokio::select! {
        ended = intercept.carry(handover) => ended,
        ended = overdue(&session.gate, &session.meter) => ended,
    }
}

/// Listens to the client while what the server says is passed on. An opaque connection is carried
/// to its end here, because what is on its way to the client can't be taken back.
async fn tunnel(
    session: &Session,
    client: &mut TcpStream,
    upstream: &mut TcpStream,
    first: Vec<u8>,
) -> Course {
    let (gate, meter) = (&session.gate, &session.meter);
    let (mut from_client, mut to_client) = client.split();
    let (mut from_upstream, mut to_upstream) = upstream.split();
    let inward = pump(gate, meter, Way::In, &mut from_upstream, &mut to_client);
    tokio::pin!(inward);
    let listened = {
        // On the heap, and gone when it is done: most connections wait after this, not in it.
        let mut listening = Box::pin(listen(session, &mut from_client, first));
        tokio::select! {
            listened = &mut listening => Ok(listened),
            done = &mut inward => match done {
                // The server is done, but the client may still be heard.
                Ok(()) => Err(listening.await),
                Err(broken) => return Course::Over(broken.ended(Way::In)),
            },
        }
    };
    let (heard, is_inward_done) = match listened {
        Ok(heard) => (heard, false),
        Err(heard) => (heard, true),
    };
    let (bytes, hello) = match heard {
        Heard::Opaque(bytes, hello) => (bytes, hello),
        // The server said something that may be half sent, so there is no other way now.
        Heard::Course(_) if meter.received() > 0 => {
            let why =
                "the server spoke first, so what the client sent can't be refused in its language";
            return Course::Over(Ended::because(How::Denied, why));
        }
        Heard::Course(course) => return course,
    };
    let outward = async {
        let ended = |broken: Broken| broken.ended(Way::Out);
        if bytes.is_empty() {
            return to_upstream.shutdown().await.map_err(|error| ended(Broken::To(error)));
        }
        match hello {
            Some(hello) => {
                let sides = (&mut from_client, &mut to_upstream);
                Box::pin(tls::serve::follow(session, &hello, bytes, sides)).await?;
            }
            None => {
                pass(meter, Way::Out, &bytes, &mut to_upstream).await.map_err(ended)?;
                // A connection that waits holds no buffer.
                drop(bytes);
            }
        }
        pump(gate, meter, Way::Out, &mut from_client, &mut to_upstream).await.map_err(ended)
    };
    let inward = async { if is_inward_done { Ok(()) } else { inward.await } };
    let ended = tokio::try_join!(outward, async {
        inward.await.map_err(|broken: Broken| broken.ended(Way::In))
    },);
    Course::Over(ended.err().unwrap_or_else(|| How::Closed.into()))
}

/// What was heard from a client.
enum Heard {
    /// Bytes to pass on, and whatever follows them; none if the client is done. If a hello began
    /// them, what it said.
    Opaque(Vec<u8>, Option<ClientHello>),
    /// Something that the gate has a part in.
    Course(Course),
}

async fn listen(session: &Session, client: &mut ReadHalf<'_>, mut bytes: Vec<u8>) -> Heard {
    let limits = &session.gate.limits;
    // The head of a message, once begun, has to come in good time.
    let mut until = Instant::now() + if bytes.is_empty() { limits.idle } else { limits.head };
    loop {
        if let Some(heard) = judge(session, &bytes).await {
            return match heard {
                Judged::Opaque(hello) => Heard::Opaque(bytes, hello),
                Judged::Http => Heard::Course(Course::Http(bytes)),
                Judged::Open(intercept, hello) => {
                    Heard::Course(Course::Open(intercept, hello, bytes))
                }
                Judged::Refuse(answer, ended) => Heard::Course(Course::Refuse(answer, ended)),
            };
        }
        let begins = bytes.is_empty();
        match timeout_at(until, read_when_ready(client, &mut bytes)).await {
            Err(_) => return Heard::Course(Course::Over(How::Idle.into())),
            Ok(Err(error)) => {
                return Heard::Course(Course::Over(Broken::From(error).ended(Way::Out)));
            }
            Ok(Ok(0)) => return cut(session, bytes).await,
            Ok(Ok(_)) if begins => until = Instant::now() + limits.head,
            Ok(Ok(_)) => {}
        }
    }
}

/// A client that has not spoken holds no buffer.
pub(crate) async fn read_when_ready(
    client: &mut ReadHalf<'_>,
    bytes: &mut Vec<u8>,
) -> std::io::Result<usize> {
    if bytes.is_empty() {
        *bytes = Vec::new();
        client.readable().await?;
    }
    bytes.reserve(CHUNK);
    client.read_buf(bytes).await
}

/// The client is done before it was clear what it speaks.
async fn cut(session: &Session, bytes: Vec<u8>) -> Heard {
    if bytes.is_empty() {
        return Heard::Opaque(bytes, None);
    }
    let why = "the client broke off in its first message";
    session.gate.malformed(session.via(), &why, &bytes).await;
    Heard::Course(Course::Over(Ended::because(How::Malformed, why)))
}

pub(crate) enum Judged {
    /// Bytes; if a hello began them, what it said.
    Opaque(Option<ClientHello>),
    /// Requests.
    Http,
    /// TLS that is opened.
    Open(Arc<dyn Intercept>, ClientHello),
    /// Nothing that goes on; with these last bytes.
    Refuse(Vec<u8>, Ended),
}

/// What the client's first bytes make of the connection; `None` if more are needed.
async fn judge(session: &Session, bytes: &[u8]) -> Option<Judged> {
    let answers = session.meter.received() > 0;
    let speech = if answers { Speech::of_answer(bytes) } else { Speech::of(bytes) };
    match speech? {
        Speech::Tls => tls::serve::judge(session, bytes).await,
        Speech::Http if session.connect().port != Port::HTTPS => Some(Judged::Http),
        Speech::Http => {
            let denial = Denial::new(Whose::Client, "port 443 takes TLS, and this is plain HTTP");
            Some(malformed(session, bytes, &denial.reason, denial.response()).await)
        }
        Speech::Other => Some(judge_other(session, bytes).await),
    }
}

/// Neither TLS nor HTTP: bytes for the destination, where the rules don't ask for more.
async fn judge_other(session: &Session, bytes: &[u8]) -> Judged {
    let connect = session.connect();
    let port = connect.port.number();
    let why = match port {
        HTTP_PORT => "port 80 takes HTTP, and this is not",
        443 => "port 443 takes TLS, and this is not",
        _ if session.gate.sees(connect) => {
            "its requests are looked at, and this is neither HTTP nor TLS"
        }
        _ => return Judged::Opaque(None),
    };
    let answer =
        if port == HTTP_PORT { Denial::new(Whose::Client, why).response() } else { vec![] };
    malformed(session, bytes, why, answer).await
}

pub(crate) async fn malformed(
    session: &Session,
    bytes: &[u8],
    why: &str,
    answer: Vec<u8>,
) -> Judged {
    session.gate.malformed(session.via(), &why, bytes).await;
    Judged::Refuse(answer, Ended::because(How::Malformed, why))
}

pub(crate) async fn refuse(session: &Session, why: &str, alert: Alert) -> Judged {
    session.refuse(why).await;
    Judged::Refuse(alert.record().to_vec(), Ended::because(How::Denied, why))
}

async fn http(session: &Session, client: TcpStream, upstream: TcpStream, first: Vec<u8>) -> Ended {
    let requests = session.requests(http_port());
    let conversation = Conversation {
        exchange: &requests,
        requests: &requests,
        head_limit: session.gate.limits.head,
        keep: if session.via() == Via::Proxy { Keep::Once } else { Keep::Alive },
    };
    let stream = Metered::new(upstream, session.meter.clone());
    let again = Again::of(session);
    let upstream = Destination { stream, anew: Some(&again) };
    let overdue = overdue(&session.gate, &session.meter);
    converse(conversation, client, upstream, first, overdue).await
}

/// Carries requests that were asked of the proxy by URL; the first head is in `first`.
pub(crate) async fn serve_http(
    session: Session,
    client: TcpStream,
    upstream: TcpStream,
    first: Vec<u8>,
) {
    let ended = Box::pin(http(&session, client, upstream, first)).await;
    session.close(ended).await;
}

/// The port of plain HTTP.
pub(crate) fn http_port() -> Port {
    Port::new(std::num::NonZeroU16::MIN.saturating_add(HTTP_PORT - 1))
}

/// Last bytes, and then the end, such that they arrive.
pub(crate) async fn farewell(client: &mut TcpStream, answer: &[u8]) {
    let told = async {
        client.write_all(answer).await?;
        client.shutdown().await?;
        let mut rest = [0; 1024];
        // What the client still sends would turn the close into a reset, and the answer be lost.
        for _ in 0..64 {
            if client.read(&mut rest).await? == 0 {
                break;
            }
        }
        std::io::Result::Ok(())
    };
    // The client may be gone.
    let _ = timeout(PATIENCE, told).await;
}

/// Tells a client why there is no connection, in its own language, if it says which soon.
pub(crate) async fn explain(
    gate: &Arc<Gate>,
    mut client: TcpStream,
    connect: Connect,
    denial: Denial,
) {
    let mut bytes = Vec::new();
    let said = tokio::select! {
        said = first_words(&mut client, &mut bytes) => said,
        () = sleep(PATIENCE) => None,
        () = gate.stopped() => None,
    };
    match said {
        Some(Said::Http) => farewell(&mut client, &denial.response()).await,
        Some(Said::Tls(hello)) => match (&gate.intercept, hello) {
            (Some(intercept), Some(hello)) if hello.server_name == connect.host => {
                let requests = Requests::new(gate.clone(), connect, Via::Transparent, Port::HTTPS);
                let client = Replayed::new(bytes, client);
                let excuse = Excuse { hello, client, requests, denial };
                tokio::select! {
                    () = intercept.explain(excuse) => {}
                    () = sleep(gate.limits.head) => {}
                    () = gate.stopped() => {}
                }
            }
            _ => farewell(&mut client, &denial.alert().record()).await,
        },
        None => {}
    }
}

/// In which language a client began.
enum Said {
    Http,
    /// With its hello, if that reads.
    Tls(Option<ClientHello>),
}

async fn first_words(client: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<Said> {
    loop {
        match Speech::of(bytes) {
            Some(Speech::Http) => return Some(Said::Http),
            Some(Speech::Other) => return None,
            Some(Speech::Tls) => match ClientHello::parse(bytes) {
                Ok(None) => {}
                hello => return Some(Said::Tls(hello.ok().flatten())),
            },
            None => {}
        }
        if bytes.len() > MAX_FIRST_WORDS || !matches!(client.read_buf(bytes).await, Ok(1..)) {
            return None;
        }
    }
}
