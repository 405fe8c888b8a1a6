//! What is handed over when a TLS connection can't stay opaque, and who takes it.
//!
//! [`Interceptor`] ends TLS on both sides. HTTP/1 goes through the gate's own strict parser and is
//! written anew; HTTP/2 is passed stream by stream. Each request is decided and recorded, and is
//! given the credentials that it names by their placeholders, if they are for it.

mod interceptor;

mod http1;
mod http2;
mod lend;
mod used;

mod ca;
mod roots;
mod trust;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use policy::Connect;
use tokio::net::TcpStream;

use crate::denial::Denial;
use crate::http::serve::Anew;
use crate::meter::{Metered, Replayed};
use crate::record::Ended;
use crate::requests::Requests;
use crate::session::Session;
use crate::tls::wire::ClientHello;

pub use ca::CaError;
pub use interceptor::Interceptor;
pub use roots::system_bundle;
pub use trust::{BUNDLE, JAVA_STORE, SYSTEM_BUNDLES, Telling, Trust};

/// A future that can be sent to another thread.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Ends TLS on both sides, so that requests can be seen.
///
/// The gate has decided and recorded the connection, checked the hello's name and dialled before
/// it hands over, and it records the end. It ends the future when the run stops or nothing passes
/// for too long; dropping the future must close both sides.
pub trait Intercept: Send + Sync + 'static {
    /// Whether connections to this destination are to be opened although the authority could
    /// decide without: a lease is for it.
    fn wants(&self, connect: &Connect) -> bool;

    /// Carries one connection to its end, and says how it ended.
    fn carry(&self, handover: Handover) -> Boxed<'static, Ended>;

    /// Tells a client why there is no connection, in answer to what it asks. The gate has recorded
    /// the refusal, and drops the future when that takes too long.
    fn explain(&self, excuse: Excuse) -> Boxed<'static, ()>;
}

/// A TLS client whose connection is not to be.
pub struct Excuse {
    /// What the client said; its name is the destination's.
    pub hello: ClientHello,
    /// The client; the hello is read from it again.
    pub client: Replayed<TcpStream>,
    /// Whom to tell of what is malformed.
    pub requests: Requests,
    /// Why.
    pub denial: Denial,
}

/// Gets another connection to a destination, in the place of one that was closed, or is likely to
/// be, while an answer was waited for.
#[derive(Clone)]
pub struct Again {
    session: Session,
}

impl Again {
    pub(crate) fn of(session: &Session) -> Self {
        Self { session: session.clone() }
    }

    /// Asks for it, records it and dials, as for the first one.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn dial(&self) -> Result<Metered<TcpStream>, Denial> {
        self.session.another().await
    }
}

impl Anew<Metered<TcpStream>> for Again {
    fn anew(&self) -> Boxed<'_, Result<Metered<TcpStream>, Denial>> {
        Box::pin(self.dial())
    }
}

/// A TLS connection that was decided, and is to be opened.
pub struct Handover {
    /// The destination.
    pub connect: Connect,
    /// What the client said; its name is the destination's.
    pub hello: ClientHello,
    /// The client; the hello is read from it again.
    pub client: Replayed<TcpStream>,
    /// The destination, dialled at a checked address, counted and capped. TLS has not begun.
    pub upstream: Metered<TcpStream>,
    /// How to get another connection to it.
    pub again: Again,
    /// Files with certificates that vouch for the destination besides the system's.
    pub ca_files: Vec<PathBuf>,
    /// Whom to ask about each request before it is sent on.
    pub requests: Requests,
}
