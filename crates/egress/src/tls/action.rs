//! Client hello → whether it is for the destination that was allowed. Pure.

use names::Host;

use super::wire::{Alert, ClientHello, HelloError};

/// Why a TLS connection does not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HelloFault {
    /// The bytes are wrong.
    #[error("{0}")]
    Malformed(HelloError),
    /// It names nobody, or nobody that can be seen.
    #[error("{0}")]
    Unnamed(HelloError),
    /// It names somebody else.
    #[error("the connection is to {allowed}, its TLS name is {named}")]
    Other {
        /// The destination.
        allowed: Host,
        /// What the client said.
        named: Host,
    },
}

impl HelloFault {
    pub(crate) fn alert(&self) -> Alert {
        match self {
            Self::Malformed(_) => Alert::DecodeError,
            Self::Unnamed(_) | Self::Other { .. } => Alert::UnrecognizedName,
        }
    }
}

impl From<HelloError> for HelloFault {
    fn from(error: HelloError) -> Self {
        match error {
            HelloError::NoName | HelloError::Encrypted | HelloError::Name(_) => {
                Self::Unnamed(error)
            }
            _ => Self::Malformed(error),
        }
    }
}

/// The name must be the destination's.
pub(crate) fn check(allowed: &Host, hello: ClientHello) -> Result<ClientHello, HelloFault> {
    if hello.server_name == *allowed {
        return Ok(hello);
    }
    Err(HelloFault::Other { allowed: allowed.clone(), named: hello.server_name })
}
