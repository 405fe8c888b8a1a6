//! Where a provider's API is.

use std::net::IpAddr;

/// A URL that is no base of an API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseError {
    /// Not `https://HOST[:PORT][/PATH]`.
    #[error("\"{0}\" is no address of the form https://HOST:PORT/PATH")]
    Form(String),
    /// Plain HTTP to a host that is not this machine.
    #[error("\"{0}\" is not encrypted, and is not on this machine")]
    Plain(String),
}

/// A scheme, a host, a port and the beginning of every path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) secure: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    prefix: String,
}

impl Base {
    /// Reads a URL. A name and a password, a query and a fragment are refused: they would get lost,
    /// or be seen.
    pub(crate) fn parse(url: &str) -> Result<Self, BaseError> {
        let refuse = || BaseError::Form(names::printable(url.as_bytes()));
        let uri: http::Uri = url.trim().parse().map_err(|_| refuse())?;
        let secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(refuse()),
        };
        let authority = uri.authority().ok_or_else(refuse)?;
        if authority.as_str().contains('@') || uri.query().is_some() || authority.host().is_empty()
        {
            return Err(BaseError::Form("the address".to_owned()));
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { secure, host, port, prefix })
    }

    /// The same, if it is encrypted or on this machine.
    pub(crate) fn protected(self) -> Result<Self, BaseError> {
        match self.secure || self.is_loopback() {
            true => Ok(self),
            false => Err(BaseError::Plain(self.host)),
        }
    }

    /// Whether it is this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        let address: Option<IpAddr> = self.host.parse().ok();
        self.host == "localhost" || address.is_some_and(|address| address.is_loopback())
    }

    /// The path of a request.
    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// The value of `Host`.
    pub(crate) fn authority(&self) -> String {
        let usual = if self.secure { 443 } else { 80 };
        match self.port == usual {
            true => self.bracketed(),
            false => format!("{}:{}", self.bracketed(), self.port),
        }
    }

    /// The host as it stands in a URL.
    pub(crate) fn bracketed(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_read() {
        let base = Base::parse("https://api.example.com/v1/").unwrap();
        assert_eq!((base.path("/x"), base.authority()), ("/v1/x".into(), "api.example.com".into()));
        let base = Base::parse("http://[::1]:8080").unwrap().protected().unwrap();
        assert_eq!((base.path("/x"), base.authority()), ("/x".into(), "[::1]:8080".into()));
        for plain in ["http://example.com", "http://10.0.0.1:11434", "http://localhost.example.com"]
        {
            assert!(Base::parse(plain).unwrap().protected().is_err(), "{plain}");
        }
    }

    #[test]
    fn other_urls_are_refused_and_a_password_is_not_shown() {
        for bad in
            ["", "example.com", "ftp://a", "https://", "https://a/?q", "unix:/x", "http://a b"]
        {
            assert!(Base::parse(bad).is_err(), "{bad}");
        }
        let error = Base::parse("https://me:canary@example.com").unwrap_err();
        assert!(!error.to_string().contains("canary"));
    }
}
