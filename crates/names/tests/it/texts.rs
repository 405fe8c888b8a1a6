//! Every name survives JSON, and JSON is read through the parser.

use std::fmt::Debug;

use names::{
    ByteSize, Digest, Host, HostPattern, NameError, Port, RefName, RunId, SessionName, Span,
    Timestamp, WorkspacePath,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn survives<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, json: &str) {
    assert_eq!(serde_json::to_string(value).unwrap(), json);
    assert_eq!(serde_json::from_str::<T>(json).unwrap(), *value);
    for bad in ["\"\"", "null", "-1", "[]", "{}", "\"\\u0000\""] {
        assert!(serde_json::from_str::<T>(bad).is_err(), "{bad} as {}", std::any::type_name::<T>());
    }
}

fn read<T>(text: &str) -> T
where
    T: std::str::FromStr<Err = NameError>,
{
    text.parse().unwrap()
}

#[test]
fn json() {
    survives::<RunId>(&read("261129-k7m2qd"), "\"261129-k7m2qd\"");
    survives::<SessionName>(&read("fix-42"), "\"fix-42\"");
    survives::<Timestamp>(&read("2026-11-29T22:04:13.123Z"), "\"2026-11-29T22:04:13.123Z\"");
    survives(&Digest::from_bytes([0xab; 32]), &format!("\"sha256:{}\"", "ab".repeat(32)));
    survives::<Host>(&read("Example.com."), "\"example.com\"");
    survives::<HostPattern>(&read("*.Example.com"), "\"*.example.com\"");
    survives::<Port>(&read("8443"), "8443");
    survives::<RefName>(&read("refs/heads/main"), "\"refs/heads/main\"");
    survives(&WorkspacePath::from_bytes(b"a/\xff").unwrap(), "\"a/%FF\"");
    survives::<ByteSize>(&read("4GiB"), "\"4GiB\"");
    survives::<Span>(&read("90s"), "\"1m30s\"");
}

#[test]
fn an_error_says_what_was_given_why_not_and_what_to_do() {
    let error = ByteSize::parse("4G").unwrap_err();
    assert_eq!(error.to_string(), "size \"4G\" has no unit such as B, KiB, MiB, GiB, kB, MB, GB");
    assert_eq!(error.hint(), Some("write a whole number and a unit, as in 512MiB"));
    assert_eq!(error.kind(), "size");
}
