//! TLS clients: the hello is judged, and followed for as long as a second one can come.

use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::action::{HelloFault, check};
use super::wire::{Alert, ClientHello, Followed, Follower, HelloError, begins_hello};
use crate::meter::Way;
use crate::record::{Ended, How};
use crate::relay::{Broken, pass};
use crate::session::Session;
use crate::tunnel::{Judged, malformed, read_when_ready, refuse};

/// What a hello makes of a connection; `None` if it isn't whole.
pub(crate) async fn judge(session: &Session, bytes: &[u8]) -> Option<Judged> {
    let connect = session.connect();
    let hello = match ClientHello::parse(bytes) {
        Ok(hello) => check(&connect.host, hello?),
        // An address has no TLS name (RFC 6066 section 3); that it is this one was decided.
        Err(HelloError::NoName)
            if connect.host.address().is_some() && !session.gate.opens(connect) =>
        {
            return Some(Judged::Opaque(None));
        }
        Err(error) => Err(HelloFault::from(error)),
    };
    let hello = match hello {
        Ok(hello) => hello,
        Err(HelloFault::Malformed(error)) => {
            let alert = Alert::DecodeError.record().to_vec();
            return Some(malformed(session, bytes, &error.to_string(), alert).await);
        }
        Err(fault) => return Some(refuse(session, &fault.to_string(), fault.alert()).await),
    };
    if !session.gate.opens(connect) {
        return Some(Judged::Opaque(Some(hello)));
    }
    Some(match &session.gate.intercept {
        Some(intercept) => Judged::Open(intercept.clone(), hello),
        None => {
            refuse(
                session,
                "its requests are narrowed, and TLS can't be opened",
                Alert::AccessDenied,
            )
            .await
        }
    })
}

/// Passes on a hello and what follows it, until no second hello can come; one that names another
/// server ends the connection. What is on its way to the client leaves no room for an alert.
pub(crate) async fn follow(
    session: &Session,
    hello: &ClientHello,
    mut bytes: Vec<u8>,
    (client, upstream): (&mut ReadHalf<'_>, &mut WriteHalf<'_>),
) -> Result<(), Ended> {
    let ended = |broken: Broken| broken.ended(Way::Out);
    let mut follower = Follower::after(hello);
    let mut passed = hello.length.min(bytes.len());
    loop {
        let rest = bytes.get(passed..).unwrap_or_default();
        let is_over = match follower.next(rest) {
            Followed::On(length) => {
                passed += length;
                false
            }
            Followed::Handshake(length) => {
                passed += length;
                second(session, bytes.get(passed..).unwrap_or_default()).await?
            }
            Followed::Done => true,
        };
        if is_over {
            return pass(&session.meter, Way::Out, &bytes, upstream).await.map_err(ended);
        }
        let ready = bytes.get(..passed).unwrap_or_default();
        pass(&session.meter, Way::Out, ready, upstream).await.map_err(ended)?;
        bytes.drain(..passed);
        passed = 0;
        let read = read_when_ready(client, &mut bytes).await;
        if read.map_err(|error| ended(Broken::From(error)))? == 0 {
            return pass(&session.meter, Way::Out, &bytes, upstream).await.map_err(ended);
        }
    }
}

/// Whether a handshake message after the hello may pass: because it is no hello, or one that
/// names the same server. False if it takes more to tell.
async fn second(session: &Session, bytes: &[u8]) -> Result<bool, Ended> {
    match begins_hello(bytes) {
        None => return Ok(false),
        Some(false) => return Ok(true),
        Some(true) => {}
    }
    let fault = match ClientHello::parse(bytes) {
        Ok(None) => return Ok(false),
        Ok(Some(hello)) => check(&session.connect().host, hello).err(),
        Err(error) => Some(HelloFault::from(error)),
    };
    let Some(fault) = fault else { return Ok(true) };
    let why = format!("in a second hello: {fault}");
    session.refuse(&why).await;
    Err(Ended::because(How::Denied, why))
}
