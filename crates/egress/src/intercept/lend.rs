//! Swapping a placeholder for the credential it stands for: the rules, apart from any protocol.
//!
//! A credential goes into a request only where all of this holds: the connection's TLS names were
//! verified on both sides, the request's authority is that name, the placeholder is the whole value
//! of the lease's own header (after its scheme), the lease is for this host, port, method and path,
//! and the broker gives a permit for it. A placeholder anywhere else stays what it is. In a body,
//! in another header, encoded or in part it is text like any other; in the lease's own header, but
//! not for the lease's destination, the request is refused, because it can only fail or leak.
//!
//! Git asks for no credential by name: what it sends to a lease's destination carries the lease's,
//! in the place of whatever it would have carried ([`Wanted::Implied`]).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use broker::{Leases, Lent};
use policy::{Carrier, Http};
use zeroize::Zeroizing;

use crate::denial::{Denial, Whose};
use crate::git::Wanted;
use crate::requests::{Admitted, Requests};

/// The header of the credentials that Git hosts take.
const AUTHORIZATION: &str = "authorization";

/// A header of a request, whatever the protocol.
pub(super) trait Headers: Send {
    /// Each value of the header of this name (lower case) that is text.
    fn values(&self, name: &str) -> Vec<String>;

    /// Puts `new` in the place of every value of the header that is exactly `old`. `new` is secret.
    fn replace(&mut self, name: &str, old: &str, new: &str);

    /// Puts `new` in the place of all values of the header, or adds it. `new` is secret.
    fn set(&mut self, name: &str, new: &str);
}

/// A credential that a request wants.
struct Found<'l> {
    lent: &'l Lent,
    /// What is there in its place; none if whatever is there goes.
    value: Option<String>,
}

/// Every credential that a request wants.
fn find<'l>(
    leases: &'l Leases,
    http: &Http,
    headers: &impl Headers,
    wanted: Wanted,
) -> Vec<Found<'l>> {
    let implied = leases
        .iter()
        .filter(|_| wanted == Wanted::Implied)
        .find(|lent| lent.carrier().header() == AUTHORIZATION && lent.act(http).is_some());
    if let Some(lent) = implied {
        return vec![Found { lent, value: None }];
    }
    let mut found = Vec::new();
    for lent in leases.iter() {
        for value in headers.values(lent.carrier().header()) {
            if is_placeholder(lent, &value) {
                found.push(Found { lent, value: Some(value) });
            }
        }
    }
    found
}

/// Whether a value of the lease's header is its placeholder: alone, or as somebody's password.
fn is_placeholder(lent: &Lent, value: &str) -> bool {
    let carrier = lent.carrier();
    let Some(found) = carrier.credential(value) else { return false };
    if carrier.user().is_none() {
        return found == lent.placeholder();
    }
    let decoded = BASE64.decode(found).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.as_deref().and_then(|pair| pair.split_once(':')).map(|(_, password)| password)
        == Some(lent.placeholder())
}

/// The whole value of the lease's header.
fn whole(carrier: &Carrier, secret: &str) -> Zeroizing<String> {
    let mut whole = Zeroizing::new(String::new());
    carrier.scheme().iter().for_each(|scheme| whole.extend([scheme, " "]));
    match carrier.user() {
        Some(user) => {
            let pair = Zeroizing::new(format!("{user}:{secret}"));
            BASE64.encode_string(pair.as_bytes(), &mut whole);
        }
        None => whole.push_str(secret),
    }
    whole
}

/// Asks for a request and for the credentials that it is to carry, and puts them in.
pub(super) async fn admit(
    requests: &Requests,
    leases: &Leases,
    method: &str,
    path: &str,
    headers: &mut impl Headers,
    wanted: Wanted,
) -> Result<Admitted, Denial> {
    let http = requests.http(method, path);
    let found = find(leases, &http, headers, wanted);
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
        let carrier = lent.carrier();
        let put = |secret: &str| match &value {
            Some(value) => headers.replace(carrier.header(), value, &whole(carrier, secret)),
            None => headers.set(carrier.header(), &whole(carrier, secret)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use broker::Loan;
    use names::{Secret, Timestamp, system_clock};
    use policy::{Destination, Layer, LeaseGrant, Origin};

    const SECRET: &str = "canary-5e1f-the-value";

    fn leases(carrier: Carrier) -> Leases {
        let target = Destination { host: "github.com", ..Destination::default() };
        let grant = LeaseGrant {
            name: "site".to_owned(),
            id: "site".to_owned(),
            target: target.target().unwrap(),
            carrier,
            variable: None,
            until: None,
            lasts: None,
            layer: Layer::Flags,
            origin: Origin { source: "test".to_owned(), line: 0, key: String::new() },
        };
        let value = Secret::new(Zeroizing::new(SECRET.to_owned()));
        let loan = Loan { grant, value, random: [7; 16] };
        Leases::lend(vec![loan], Timestamp::from_millis(0), system_clock)
    }

    #[test]
    fn a_value_is_written_as_its_carrier_says() {
        let written = |carrier: &Carrier| whole(carrier, "open sesame").to_string();
        assert_eq!(written(&Carrier::new("x-api-key", None).unwrap()), "open sesame");
        assert_eq!(written(&Carrier::new("authorization", None).unwrap()), "Bearer open sesame");
        // RFC 7617 section 2.
        assert_eq!(
            written(&Carrier::basic("Aladdin").unwrap()),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        );
    }

    #[test]
    fn a_placeholder_is_found_as_a_password() {
        let leases = leases(Carrier::basic("x-access-token").unwrap());
        let lent = leases.iter().next().unwrap();
        let pair = |user: &str, password: &str| {
            format!("basic {}", BASE64.encode(format!("{user}:{password}")))
        };
        assert!(is_placeholder(lent, &pair("anybody", lent.placeholder())));
        for other in [
            pair("anybody", "something"),
            pair(lent.placeholder(), "something"),
            format!("Basic {}", lent.placeholder()),
            format!("Bearer {}", lent.placeholder()),
            lent.placeholder().to_owned(),
            "Basic !!!".to_owned(),
        ] {
            assert!(!is_placeholder(lent, &other), "{other}");
        }
    }

    #[test]
    fn git_is_lent_by_where_it_goes() {
        let leases = leases(Carrier::basic("x-access-token").unwrap());
        let http = |host: &str| Http {
            host: names::Host::parse(host).unwrap(),
            port: names::Port::HTTPS,
            method: "POST".to_owned(),
            path: "/ann/site.git/git-receive-pack".to_owned(),
            query: None,
        };
        let none: Vec<crate::http::wire::Field> = Vec::new();
        let wants = |host, wanted| find(&leases, &http(host), &none, wanted).len();
        assert_eq!(wants("github.com", Wanted::Implied), 1);
        assert_eq!(wants("github.com", Wanted::Named), 0);
        assert_eq!(wants("gitlab.com", Wanted::Implied), 0);
        // Whatever the client would have sent goes.
        let field = |value: &str| crate::http::wire::Field {
            name: "Authorization".to_owned(),
            value: value.as_bytes().to_vec(),
        };
        let mut headers = vec![field("Basic one"), field("Basic two")];
        headers.set(AUTHORIZATION, "Basic three");
        assert_eq!(headers.values(AUTHORIZATION), ["Basic three"]);
    }
}
