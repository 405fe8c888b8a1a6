//! The proxy of the control plane: `HTTPS_PROXY` and `NO_PROXY`, for encrypted connections only.

use std::io;

use names::Secret;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::base::Base;
use crate::wire::base64_of;

/// Largest head of a proxy's answer, in bytes.
const LARGEST_HEAD: usize = 16 << 10;

/// An HTTP proxy, and whom to reach without it.
#[derive(Debug, Clone)]
pub(crate) struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    login: Option<Secret<String>>,
    except: Vec<String>,
}

/// A proxy that can't be used; the text doesn't repeat it, for it may have a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("HTTPS_PROXY is not of the form http://HOST:PORT")]
pub struct ProxyError;

impl Proxy {
    /// Reads the two variables.
    pub(crate) fn parse(url: &str, except: &str) -> Result<Self, ProxyError> {
        let rest = url.trim().strip_prefix("http://").or(Some(url.trim()));
        let rest = rest.filter(|rest| !rest.contains("://")).ok_or(ProxyError)?;
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(Secret::new(unescaped(login))), place),
            None => (None, rest),
        };
        let base = Base::parse(&format!("http://{place}")).map_err(|_| ProxyError)?;
        let names = except.split(',').map(|name| name.trim().to_lowercase());
        let except = names.filter(|name| !name.is_empty()).collect();
        Ok(Self { host: base.host, port: base.port, login, except })
    }

    /// Whether connections to this host go through it.
    pub(crate) fn serves(&self, base: &Base) -> bool {
        let host = base.host.to_lowercase();
        let excepted = self.except.iter().any(|name| {
            let name = name.strip_prefix('*').filter(|rest| !rest.is_empty()).unwrap_or(name);
            let name = name.strip_suffix(&format!(":{}", base.port)).unwrap_or(name);
            let name = name.strip_prefix('.').unwrap_or(name);
            let below = host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
            name == "*" || host == name || below
        });
        base.secure && !base.is_loopback() && !excepted
    }

    /// Asks for a tunnel (RFC 9110, section 9.3.6).
    pub(crate) async fn tunnel(&self, stream: &mut TcpStream, to: &Base) -> io::Result<()> {
        let place = format!("{}:{}", to.bracketed(), to.port);
        let login = self.login.as_ref().map(|login| {
            format!("Proxy-Authorization: Basic {}\r\n", base64_of(login.expose().as_bytes()))
        });
        let login = login.unwrap_or_default();
        let ask = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{login}\r\n");
        stream.write_all(ask.as_bytes()).await?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() == LARGEST_HEAD {
                return Err(io::Error::other("the proxy's answer is too large"));
            }
            head.push(stream.read_u8().await?);
        }
        match status(&head) {
            Some(200..=299) => Ok(()),
            Some(status) => Err(io::Error::other(format!("the proxy answered {status}"))),
            None => Err(io::Error::other("the proxy does not speak HTTP")),
        }
    }
}

fn status(head: &[u8]) -> Option<u16> {
    let head = str::from_utf8(head).ok()?;
    head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.trim().parse().ok()
}

/// Percent signs in a login stand for bytes.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let code = rest.strip_prefix('%').and_then(|rest| rest.get(..2));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = rest.get(3..).unwrap_or_default();
            }
            None => {
                bytes.extend(first.to_string().bytes());
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_reached_without_it() {
        let proxy =
            Proxy::parse("http://me:p%40ss@proxy:3128/", "example.com, .corp,*.lan,").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy", 3128));
        assert_eq!(proxy.login.as_ref().unwrap().expose(), "me:p@ss");
        let serves = |url: &str| proxy.serves(&Base::parse(url).unwrap());
        assert!(serves("https://api.anthropic.com"));
        assert!(serves("https://notexample.com"));
        for direct in [
            "https://example.com",
            "https://api.example.com",
            "https://a.corp",
            "https://b.lan",
            "https://127.0.0.1",
            "http://other.com",
        ] {
            assert!(!serves(direct), "{direct}");
        }
        let none = Proxy::parse("proxy:1", "*").unwrap();
        assert!(!none.serves(&Base::parse("https://api.openai.com").unwrap()));
    }

    #[test]
    fn other_kinds_are_refused_and_nothing_is_shown() {
        for bad in ["socks5://a:1", "https://a", "http://", ""] {
            assert_eq!(Proxy::parse(bad, "").unwrap_err(), ProxyError, "{bad}");
        }
        let proxy = Proxy::parse("http://me:canary@proxy:1", "").unwrap();
        assert!(!format!("{proxy:?}").contains("canary"));
    }
}
