//! Request → what is asked of the authority. Pure.

use policy::Connect;

use super::wire::Request;

/// The connection that is asked for.
pub(crate) fn asked(request: Request) -> Connect {
    Connect { host: request.host, port: request.port }
}
