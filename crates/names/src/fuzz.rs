//! Entry points of the fuzz targets and of the tests that replay their corpus: hostile bytes in,
//! a panic if a promise of this crate does not hold.

use crate::{Host, HostPattern, RefName, WorkspacePath, canonical};

/// A host is its own canonical form, and nothing but a name is one.
pub fn fuzz_host(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Ok(host) = Host::parse(text) {
        let name = host.as_str();
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        assert!(name.bytes().all(|byte| plain(byte) || b"-._".contains(&byte)), "{name}");
        assert!(name.len() <= 253 && name.contains('.'), "{name}");
        assert_eq!(Host::parse(name).as_ref(), Ok(&host));
        assert!(name.parse::<std::net::IpAddr>().is_err(), "{name}");
        assert!(HostPattern::exact(host.clone()).matches(&host));
    }
    if let Ok(pattern) = HostPattern::parse(text) {
        assert_eq!(HostPattern::parse(&pattern.to_string()), Ok(pattern.clone()));
        assert_eq!(pattern.intersect(&pattern).as_ref(), Some(&pattern));
    }
}

/// `check` accepts exactly the texts that reading and writing again does not change, and finds the
/// members that a reader finds.
pub fn fuzz_canonical(data: &[u8]) {
    let parsed = canonical::parse::<serde_json::Value>(data);
    let rewritten = parsed.as_ref().ok().and_then(|value| canonical::to_vec(value).ok());
    match canonical::check(data) {
        Ok(()) => assert!(rewritten.is_none_or(|bytes| bytes == data)),
        Err(_) => assert!(rewritten.is_none_or(|bytes| bytes != data)),
    }
    if let Ok(value) = parsed
        && let Ok(bytes) = canonical::to_vec(&value)
    {
        assert_eq!(members(&bytes), Ok(read_members(&value)));
    }
}

/// The members of the object that `text` is, each written again.
fn members(text: &[u8]) -> Result<Vec<(String, Vec<u8>)>, canonical::CanonicalError> {
    let mut members = Vec::new();
    canonical::check_members(text, |member| members.push(member))?;
    let owned = members.into_iter().map(|canonical::Member { key, value }| {
        let key = [b"\"", key, b"\""].concat();
        Ok((canonical::parse(&key)?, value.to_vec()))
    });
    owned.collect()
}

/// The same by the value that was read.
fn read_members(value: &serde_json::Value) -> Vec<(String, Vec<u8>)> {
    let mut members: Vec<_> = value.as_object().into_iter().flatten().collect();
    members.sort_by_key(|(key, _)| key.encode_utf16().collect::<Vec<_>>());
    let written = |value| canonical::to_vec(value).unwrap_or_default();
    members.into_iter().map(|(key, value)| (key.clone(), written(value))).collect()
}

/// What git refuses for sure is refused here.
pub fn fuzz_gitref(data: &[u8]) {
    let Ok(name) = RefName::from_bytes(data) else { return };
    assert_eq!(name.as_str().as_bytes(), data);
    assert!(!name.as_str().contains("..") && !name.as_str().starts_with(['/', '.']));
}

/// Bytes and text of a path are the same path, and it stays below its root.
pub fn fuzz_path(data: &[u8]) {
    if let Ok(path) = WorkspacePath::from_bytes(data) {
        assert_eq!(path.as_bytes(), data);
        assert_eq!(WorkspacePath::parse(&path.text()).as_ref(), Ok(&path));
        let normal = |part| matches!(part, std::path::Component::Normal(_));
        assert!(path.as_path().components().all(normal));
        assert_eq!(path.as_path().components().count(), path.components().count());
    }
    if let Ok(text) = str::from_utf8(data)
        && let Ok(path) = WorkspacePath::parse(text)
    {
        assert_eq!(path.text(), text);
    }
}
