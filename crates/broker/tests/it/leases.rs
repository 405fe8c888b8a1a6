//! A credential is had with a permit, for its destination, while it lasts; nothing prints it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use broker::{Broker, Credential, LeaseError, Leases, Loan};
use ledger::Ledger;
use names::{Clock, Host, Port, Secret, Timestamp};
use policy::{Carrier, Destination, Flags, Http, Lease, LeaseTerms, Library, Request, Source};
use zeroize::Zeroizing;

use crate::scene::{Medium, run};

const CANARY: &str = "canary-7f3a-value";

/// A clock that stands, and one that a test moves.
fn standing() -> Timestamp {
    Timestamp::from_millis(1_000_000)
}

static NOW: AtomicI64 = AtomicI64::new(1_000_000);

fn moved() -> Timestamp {
    Timestamp::from_millis(NOW.load(Ordering::SeqCst))
}

struct Purse;

impl Library for Purse {
    fn find(&self, _: &str) -> Result<Option<Source>, String> {
        Ok(None)
    }

    fn lease(&self, name: &str) -> Result<Option<LeaseTerms>, String> {
        let host = if name == "one" { "one.example.com" } else { "two.example.com" };
        let methods = ["POST".to_owned()];
        let target = Destination { host, path_prefixes: &["/v1"], methods: &methods, ports: &[] };
        Ok(Some(LeaseTerms {
            id: name.to_owned(),
            target: target.target().unwrap(),
            carrier: Carrier::new("x-api-key", None).unwrap(),
            variable: Some(name.to_uppercase()),
            until: None,
        }))
    }
}

fn authority() -> policy::Authority {
    let text = "[[lease]]\nname = \"one\"\nfor = \"10s\"\n[[lease]]\nname = \"two\"\n\
                [[rule]]\naction = \"lease\"\nlease = \"two\"\nverdict = \"deny\"\n";
    let profile =
        Source { layer: policy::Layer::Named, name: "lent.toml".to_owned(), text: text.to_owned() };
    let request = Request {
        profile: Some(profile),
        profile_name: "lent".to_owned(),
        owner: None,
        project: None,
        flags: Flags::default(),
        home: "/home/ann".into(),
        project_dir: "/home/ann/site".into(),
        subject: "ann".to_owned(),
        library: &Purse,
    };
    policy::resolve(request).unwrap().authority
}

fn scene() -> (Broker, Leases, Medium) {
    scene_at(standing)
}

fn scene_at(clock: Clock) -> (Broker, Leases, Medium) {
    let medium = Medium::default();
    let ledger = Ledger::over(Box::new(medium.clone()), &run(), names::system_clock).unwrap();
    let authority = authority();
    let credential = || -> Credential { Secret::new(Zeroizing::new(CANARY.to_owned())) };
    let loans = authority.leases.iter().cloned().enumerate().map(|(at, grant)| Loan {
        grant,
        value: credential(),
        random: [u8::try_from(at).unwrap(); 16],
    });
    let leases = Leases::lend(loans.collect(), clock(), clock);
    (Broker::new(Arc::new(authority), ledger), leases, medium)
}

fn http(method: &str, host: &str, path: &str) -> Http {
    let host = Host::parse(host).unwrap();
    Http { method: method.to_owned(), host, port: Port::HTTPS, path: path.to_owned(), query: None }
}

#[test]
fn a_credential_is_had_with_a_permit_and_recorded_by_name() {
    let (broker, leases, medium) = scene();
    let one = leases.find(&format!("loop-lease-one-{}", "00".repeat(16))).unwrap();
    assert_eq!((one.name(), one.variable()), ("one", Some("ONE")));
    let act = one.act(&http("POST", "one.example.com", "/v1/messages")).unwrap();
    let permit = broker.request(act).unwrap();
    assert_eq!(leases.with_value(&permit, str::to_owned).unwrap(), CANARY);
    broker.complete(permit, &serde_json::json!({"status": 200})).unwrap();
    let durable = medium.durable();
    let kinds: Vec<_> = durable.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["genesis", "lease.intent", "lease.result"]);
    assert_eq!(durable[1].1["action"]["name"], "one");
    assert_eq!(durable[1].1["action"]["host"], "one.example.com");
    assert!(!format!("{durable:?}").contains(CANARY));
}

#[test]
fn it_is_for_its_destination_only() {
    let (_, leases, _) = scene();
    let one = leases.iter().next().unwrap();
    for other in [
        http("POST", "two.example.com", "/v1/messages"),
        http("GET", "one.example.com", "/v1/messages"),
        http("TRACE", "one.example.com", "/v1/messages"),
        http("POST", "one.example.com", "/v2"),
        http("POST", "one.example.com", "/v1/../admin"),
        http("POST", "one.example.com", "/v1/%2e%2e/admin"),
        Http { port: Port::parse("8443").unwrap(), ..http("POST", "one.example.com", "/v1") },
    ] {
        assert_eq!(one.act(&other), None, "{other:?}");
    }
    let host = |name| Host::parse(name).unwrap();
    assert!(leases.concern(&host("one.example.com"), Port::HTTPS));
    assert!(!leases.concern(&host("three.example.com"), Port::HTTPS));
    assert!(!leases.concern(&host("one.example.com"), Port::parse("80").unwrap()));
}

#[test]
fn a_denied_lending_gives_no_permit_whatever_the_gate_asks() {
    let (broker, _, medium) = scene();
    let host = Host::parse("two.example.com").unwrap();
    let act = Lease { name: "two".to_owned(), host, port: Port::HTTPS };
    assert!(broker.request(act).is_err());
    assert_eq!(medium.durable()[1].0, "denied");
}

#[test]
fn an_expired_or_revoked_lease_gives_nothing() {
    let (broker, leases, _) = scene();
    let one = leases.iter().next().unwrap();
    let act = one.act(&http("POST", "one.example.com", "/v1")).unwrap();
    let permit = broker.request(act).unwrap();
    assert_eq!(leases.live("one"), Ok(()));
    assert!(leases.revoke("one") && !leases.revoke("one"));
    assert_eq!(leases.live("one"), Err(LeaseError::Revoked));
    assert_eq!(leases.with_value(&permit, |_| ()), Err(LeaseError::Revoked));
    let (_, leases, _) = scene_at(moved);
    NOW.fetch_add(10_000, Ordering::SeqCst);
    assert_eq!(leases.live("one"), Err(LeaseError::Expired));
    assert_eq!(leases.with_value(&permit, |_| ()), Err(LeaseError::Expired));
    assert_eq!(leases.live("two"), Ok(()));
    leases.end();
    assert_eq!(leases.live("two"), Err(LeaseError::Revoked));
}

#[test]
fn nothing_prints_a_credential() {
    let (broker, leases, _) = scene();
    let loan = Loan {
        grant: leases.iter().next().unwrap().grant().clone(),
        value: Secret::new(Zeroizing::new(CANARY.to_owned())),
        random: [0; 16],
    };
    let shown =
        format!("{leases:?} {leases:#?} {loan:?} {:?} {:?}", loan.value, broker.authority());
    assert!(!shown.contains(CANARY), "{shown}");
    assert_eq!(leases.redact(&format!("echo {CANARY}!")), "echo [secret]!");
}
