//! The network gate: any client of a sandbox reaches exactly the hosts that its authority names.
//!
//! A sandbox has no network but loopback. Its init makes listeners there and passes them out; the
//! gate accepts on them from outside. There are two ways in: the [name server](dns) gives each
//! allowed name a synthetic address, and connections to that address land here
//! ([transparent](transparent)); and an explicit [proxy](proxy) speaks HTTP and SOCKS5.
//! Both end in one [session]: the broker is asked for host and port and records the
//! intent, the name is resolved once, every address checked, one dialled; what the client then
//! says is [checked](tunnel) for the name it carries; the end is recorded too.
//!
//! Each protocol has the files of a gate: `wire` (hostile bytes → typed request, no I/O, capped,
//! fuzzed), `action` (request → what is asked, pure) and `serve` (accept, ask, answer; the only
//! async one). They share one `effect`, because they all end in one dial.
//!
//! [Published](publish) ports are the way in: clients of this machine are carried to a port of the
//! sandbox, which somebody else connects to.
//!
//! The gate must not start processes, open files other than certificates, or connect to anything
//! without a [`Permit`](broker::Permit). It opens no TLS but by an [`Intercept`], where requests
//! have to be seen; [`Interceptor`] is the one.
#![forbid(unsafe_code)]
#![allow(rustdoc::private_intra_doc_links)]

mod egress;
mod gate;

pub mod dns;
pub mod http;
pub mod socks;
pub mod tls;

mod first;
mod proxy;
mod transparent;
mod tunnel;

mod publish;

mod git;
mod intercept;
mod requests;
mod session;

mod effect;
mod reach;
mod synthetic;

mod meter;
mod relay;

mod denial;
mod record;

mod fuzz;

pub use denial::{Denial, Whose};
pub use effect::{HostResolver, Resolver};
pub use egress::{Config, Egress, Listeners};
pub use first::Speech;
#[doc(hidden)]
pub use fuzz::{fuzz_dns, fuzz_first, fuzz_hello, fuzz_http, fuzz_socks};
pub use gate::Limits;
pub use git::{Answer, Asked, Body, Git, GitGate, Push, Unsent, Wanted};
pub use intercept::{
    Again, BUNDLE, Boxed, CaError, Excuse, Handover, Intercept, Interceptor, JAVA_STORE,
    SYSTEM_BUNDLES, Telling, Trust, system_bundle,
};
pub use meter::{Meter, Metered, OverBudget, Replayed, Way};
pub use publish::{Entrance, Inside, Published};
pub use reach::transparent_ports;
pub use record::{
    ConnectResult, END, Ended, FLOOD, Flood, How, HttpResult, MALFORMED, Malformed, PublishResult,
    Totals, Via,
};
pub use requests::{Admitted, Requests};
pub use synthetic::SyntheticRange;
