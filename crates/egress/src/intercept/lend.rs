//! Swapping a placeholder for the credential it stands for: the rules, apart from any protocol.
//!
//! A credential goes into a request only where all of this holds: the connection's TLS names were
//! verified on both sides, the request's authority is that name, the placeholder is the whole value
//! of the lease's own header (after its scheme), the lease is for this host, port, method and path,
//! and the broker gives a permit for it. A placeholder anywhere else stays what it is. In a body,
//! in another header, encoded or in part it is text like any other; in the lease's own header, but
//! not for the lease's destination, the request is refused, because it can only fail or leak.

use broker::{Leases, Lent};
use policy::Http;
use zeroize::Zeroizing;

use crate::denial::{Denial, Whose};
use crate::requests::{Admitted, Requests};

/// A header of a request, whatever the protocol.
pub(super) trait Headers: Send {
    /// Each value of the header of this name (lower case) that is text.
    fn values(&self, name: &str) -> Vec<String>;

    /// Puts `new` in the place of every value of the header that is exactly `old`. `new` is secret.
    fn replace(&mut self, name: &str, old: &str, new: &str);
}

/// A header's value that is a placeholder, and whose.
struct Found<'l> {
    lent: &'l Lent,
    value: String,
}

/// Every placeholder that stands where its lease's credential would.
fn find<'l>(leases: &'l Leases, headers: &impl Headers) -> Vec<Found<'l>> {
    let mut found = Vec::new();
    for lent in leases.iter() {
        let carrier = lent.carrier();
        for value in headers.values(carrier.header()) {
            if carrier.credential(&value) == Some(lent.placeholder()) {
                found.push(Found { lent, value });
            }
        }
    }
    found
}

/// Asks for a request and for the credentials that it is to carry, and puts them in.
pub(super) async fn admit(
    requests: &Requests,
    leases: &Leases,
    method: &str,
    path: &str,
    headers: &mut impl Headers,
) -> Result<Admitted, Denial> {
    let http = requests.http(method, path);
    let found = find(leases, headers);
    for found in &found {
        if found.lent.act(&http).is_none() {
            return Err(misplaced(requests, found.lent, &http).await?);
        }
    }
    let mut admitted = requests.ask(method, path).await?;
    match put_in(requests, leases, &mut admitted, found, &http, headers).await {
        Ok(()) => Ok(admitted),
        Err(denial) => {
            // It was decided about, and then it did not happen.
            requests.done(admitted, None).await;
            Err(denial)
        }
    }
}

async fn put_in(
    requests: &Requests,
    leases: &Leases,
    admitted: &mut Admitted,
    found: Vec<Found<'_>>,
    http: &Http,
    headers: &mut impl Headers,
) -> Result<(), Denial> {
    for Found { lent, value } in found {
        let Some(act) = lent.act(http) else { continue };
        let permit = requests.lend(admitted, act).await?;
        let scheme = lent.carrier().scheme().map(|scheme| format!("{scheme} ")).unwrap_or_default();
        let put = |secret: &str| {
            let whole = Zeroizing::new(format!("{scheme}{secret}"));
            headers.replace(lent.carrier().header(), &value, &whole);
        };
        let given = leases.with_value(permit, put);
        given.map_err(|why| Denial::new(Whose::Policy, format!("{}: {why}", lent.name())))?;
    }
    Ok(())
}

/// A credential that was asked for where it may not go: recorded, and refused.
async fn misplaced(requests: &Requests, lent: &Lent, http: &Http) -> Result<Denial, Denial> {
    let name = lent.name();
    let reason = format!("the lease {name} is for {}", lent.grant().target);
    let lease = policy::Lease { name: name.to_owned(), host: http.host.clone(), port: http.port };
    requests.misplaced(lease, &reason).await?;
    let next = format!("use {name} for its destination only, or send the request without it");
    Ok(Denial::new(Whose::Policy, reason).next(next))
}
