//! Entry points of the fuzz targets and of the tests that replay their corpus: hostile bytes in,
//! a panic if a promise of this crate does not hold.

use std::net::Ipv4Addr;

use names::Port;

use crate::dns::action::{about, asked};
use crate::dns::wire::{Answer, Kind, Query, refusal};
use crate::first::Speech;
use crate::http::authority::Authority;
use crate::http::body::{BodyReader, Piece};
use crate::http::wire::{Ending, Framing, RequestHead, ResponseHead};
use crate::socks::wire::{Request, greeting};
use crate::tls::wire::ClientHello;

const PORT: Port = Port::HTTPS;

/// A head is read the same however its bytes come, what is sent on is read as the same request,
/// and it is told for HTTP from its first bytes.
pub fn fuzz_http(data: &[u8]) {
    if let Ok(Some((head, length))) = RequestHead::parse(data, PORT) {
        for cut in [0, length / 3, length / 2, length.saturating_sub(1)] {
            let part = data.get(..cut).unwrap_or_default();
            assert_eq!(RequestHead::parse(part, PORT), Ok(None));
        }
        assert_eq!(Speech::of(data), Some(Speech::Http));
        again(&head);
    }
    if let Ok(Some((head, length))) = ResponseHead::parse(data) {
        let part = data.get(..length.saturating_sub(1)).unwrap_or_default();
        assert_eq!(ResponseHead::parse(part), Ok(None));
        let onward = head.onward(head.framing, Ending::Stay);
        let read = ResponseHead::parse(&onward).ok().flatten().map(|(read, _)| read);
        assert_eq!(read.map(|read| (read.status, read.framing)), Some((head.status, head.framing)));
    }
    for framing in [Framing::Chunked, Framing::Length(10), Framing::UntilClose] {
        assert_eq!(body(data, framing, data.len()), body(data, framing, 1));
    }
}

/// What is sent on means what came, and nothing of the hop.
fn again(head: &RequestHead) {
    let Some(host) = &head.host else { return };
    if head.path().is_empty() {
        return;
    }
    let onward = head.onward(host);
    let read = RequestHead::parse(&onward, PORT).ok().flatten();
    assert!(read.is_some(), "{}", names::printable(&onward));
    let Some((read, length)) = read else { return };
    assert_eq!(length, onward.len());
    assert_eq!((&read.method, read.path()), (&head.method, head.path()));
    assert_eq!((read.framing, read.websocket), (head.framing, head.websocket));
    assert!(read.host.as_ref().is_some_and(|same: &Authority| same.is(&host.host, host.port)));
    assert!(!read.fields.iter().any(|field| field.is("proxy-authorization")));
    assert_eq!(read.onward(host), onward);
}

/// The data of a body whose bytes come `step` at a time, and whether it was whole.
fn body(data: &[u8], framing: Framing, step: usize) -> (Vec<u8>, Option<bool>) {
    let mut reader = BodyReader::new(framing);
    let (mut at, mut seen, mut out) = (0, 0, Vec::new());
    loop {
        match reader.next(data.get(at..seen).unwrap_or_default()) {
            Ok(Piece::Data(length)) => {
                out.extend(data.get(at..at + length).unwrap_or_default());
                at += length;
            }
            Ok(Piece::Framing(length)) => at += length,
            Ok(Piece::More) if seen < data.len() => seen = (seen + step.max(1)).min(data.len()),
            Ok(Piece::More | Piece::End) => return (out, Some(reader.is_done())),
            Err(_) => return (out, None),
        }
        assert!(at <= seen);
    }
}

/// A hello is read the same however its bytes come, and names a host that is one.
pub fn fuzz_hello(data: &[u8]) {
    let read = ClientHello::parse(data);
    if let Ok(Some(hello)) = &read {
        assert_eq!(names::Host::parse(hello.server_name.as_str()).as_ref(), Ok(&hello.server_name));
        assert_eq!(Speech::of(data), Some(Speech::Tls));
        for cut in [0, 1, 5, data.len() / 2] {
            let part = data.get(..cut).unwrap_or_default();
            let early = ClientHello::parse(part);
            assert!(early == Ok(None) || early == read);
        }
    }
}

/// A query is answered with its own question, in a datagram that any client takes.
pub fn fuzz_dns(data: &[u8]) {
    let Ok(query) = Query::parse(data) else {
        let refused = refusal(data);
        assert!(refused.is_none_or(|bytes| bytes.len() == 12 && bytes.first() == data.first()));
        return;
    };
    let _ = asked(&query);
    let name = "a".repeat(63);
    let answers = [
        about(query.kind, Ipv4Addr::LOCALHOST),
        about(Kind::A, Ipv4Addr::LOCALHOST),
        Answer::Name(name),
        Answer::Nothing,
        Answer::Refused,
    ];
    for answer in answers {
        let bytes = query.answer(&answer);
        assert!(bytes.len() <= 512 && bytes.get(..2) == data.get(..2));
        // It is a response, so it is no query.
        assert!(Query::parse(&bytes).is_err());
    }
}

/// A greeting and a request are read the same however their bytes come.
pub fn fuzz_socks(data: &[u8]) {
    if let Ok(Some(length)) = greeting(data) {
        assert!(length <= data.len());
        assert_eq!(greeting(data.get(..length - 1).unwrap_or_default()), Ok(None));
    }
    if let Ok(Some((request, length))) = Request::parse(data) {
        let part = data.get(..length.saturating_sub(1)).unwrap_or_default();
        assert_eq!(Request::parse(part), Ok(None));
        let whole = data.get(..length).unwrap_or_default();
        assert_eq!(Request::parse(whole), Ok(Some((request, length))));
    }
}

/// What a client speaks doesn't change with what it says next.
pub fn fuzz_first(data: &[u8]) {
    let told = Speech::of(data);
    for cut in 0..data.len().min(64) {
        let early = Speech::of(data.get(..cut).unwrap_or_default());
        assert!(early.is_none() || early == told, "{early:?} {told:?}");
    }
}
