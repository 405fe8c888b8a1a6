//! Which paths mean one thing only.

use std::path::Path;

use super::says::bytes;
use crate::action::Action;

/// Why a request can't be decided about, if so: what it names isn't what would be touched.
pub(super) fn fault(action: &Action) -> Option<&'static str> {
    match action {
        Action::Exec(exec) if !is_plain(&exec.program) => {
            Some("the program is not an absolute, resolved path")
        }
        Action::Exec(exec) if !is_plain(&exec.cwd) => {
            Some("the working directory is not an absolute, resolved path")
        }
        Action::Open(open) if !is_plain(&open.path) => {
            Some("the path is not absolute and resolved")
        }
        Action::Mount(mount) if !is_plain(&mount.path) => {
            Some("the path is not absolute and resolved")
        }
        _ => None,
    }
}

/// Whether a path is `/` or `/` and names joined by single slashes, without `.`, `..` and NUL.
pub(crate) fn is_plain(path: &Path) -> bool {
    match bytes(path).strip_prefix(b"/") {
        Some(b"") => true,
        Some(names) => names.split(|byte| *byte == b'/').all(is_name),
        None => false,
    }
}

fn is_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.contains(&0)
}

/// A URL's path without its query, as bytes to match; `None` if a server may take it for another
/// path: through `.`, `..`, empty segments, backslashes, path parameters, or percent-encoding of
/// what needs none or of a separator.
pub(crate) fn url_path(path: &str) -> Option<&[u8]> {
    let end = path.find(['?', '#']).unwrap_or(path.len());
    let path = path.as_bytes().get(..end)?;
    let names = path.strip_prefix(b"/")?;
    let names = names.strip_suffix(b"/").unwrap_or(names);
    let clear = names.is_empty() || names.split(|byte| *byte == b'/').all(is_name);
    let graphic = path.iter().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b';'));
    (clear && graphic && encodes_only_what_must(path)).then_some(path)
}

fn encodes_only_what_must(path: &[u8]) -> bool {
    let mut rest = path;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let (Some(digits), Some(after)) = (rest.get(at + 1..at + 3), rest.get(at + 3..)) else {
            return false;
        };
        let byte = str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'));
        let byte = byte.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if byte.is_none_or(needs_no_encoding) {
            return false;
        }
        rest = after;
    }
    true
}

fn needs_no_encoding(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte < 0x20 || b"-._~/\\%".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_paths() {
        for yes in ["/", "/a", "/a/b c", "/a/..b"] {
            assert!(is_plain(Path::new(yes)), "{yes}");
        }
        for no in ["", "a", "./a", "/a/", "//a", "/a//b", "/a/./b", "/a/..", "/..", "/a\0"] {
            assert!(!is_plain(Path::new(no)), "{no:?}");
        }
    }

    #[test]
    fn url_paths() {
        assert_eq!(url_path("/a/b?x=../y"), Some(&b"/a/b"[..]));
        assert_eq!(url_path("/a/"), Some(&b"/a/"[..]));
        assert_eq!(url_path("/"), Some(&b"/"[..]));
        assert_eq!(url_path("/%40scope/x%20y"), Some(&b"/%40scope/x%20y"[..]));
        let unclear = [
            "",
            "a",
            "/a/../b",
            "/./a",
            "//a",
            "/a//",
            "/a/%2e%2E/b",
            "/a%2fb",
            "/a%5Cb",
            "/a\\b",
            "/%61dmin",
            "/a;b=c",
            "/a%",
            "/a%4",
            "/a%zz",
            "/a%+1",
            "/a\u{e4}",
            "/a b",
            "/a%00",
            "/a%252e",
        ];
        for path in unclear {
            assert_eq!(url_path(path), None, "{path}");
        }
    }
}
