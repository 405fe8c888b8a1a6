//! Which requests are Git's, and which of them could push. Recognised in every spelling that a
//! server may take for it, and accepted in one. No I/O.

/// The service that changes a repository.
const RECEIVE: &str = "git-receive-pack";
/// What a body of a push calls itself.
const PUSH_TYPE: &str = "application/x-git-receive-pack-request";
/// Longest path, in bytes, in whose encoding is looked; a longer one is no repository.
const LONGEST: usize = 8192;
/// Times that a path is decoded.
const MOST_DECODINGS: usize = 4;

/// The head of a request, as far as Git is concerned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The method.
    pub method: String,
    /// The path and the query, as sent.
    pub target: String,
    /// `Content-Type`; several joined.
    pub content_type: Option<String>,
    /// `Content-Encoding`; several joined.
    pub content_encoding: Option<String>,
}

/// What a request is to Git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Git {
    /// It reads a repository.
    Fetch,
    /// It asks what there is to push to.
    Discovery(String),
    /// It pushes to a repository.
    Push(String),
    /// It could push, and is not spelled as a push is; why not.
    Misspelled(&'static str),
}

impl Git {
    /// Recognises a request; `None` if it is none of Git's.
    #[must_use]
    pub fn of(asked: &Asked) -> Option<Self> {
        let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
        if !could_push(asked, path, query) {
            return is_fetch(path, query).then_some(Self::Fetch);
        }
        Some(accepted(asked, path, query).unwrap_or_else(Self::Misspelled))
    }
}

fn accepted(asked: &Asked, path: &str, query: &str) -> Result<Git, &'static str> {
    const SPELLING: &str = "its URL is spelled in a way that servers may read differently";
    if let Some(repository) = path.strip_suffix("/info/refs") {
        let repository = named(repository).ok_or(SPELLING)?;
        return match (asked.method.as_str(), query) {
            ("GET", "service=git-receive-pack") => Ok(Git::Discovery(repository)),
            ("GET", _) => Err(SPELLING),
            _ => Err("the method is not GET"),
        };
    }
    let repository = path.strip_suffix("/git-receive-pack").and_then(named).ok_or(SPELLING)?;
    match asked {
        _ if !query.is_empty() => Err(SPELLING),
        _ if asked.method != "POST" => Err("the method is not POST"),
        _ if asked.content_type.as_deref() != Some(PUSH_TYPE) => {
            Err("the content type is not that of a push")
        }
        _ if asked.content_encoding.as_deref().is_some_and(|coding| coding != "identity") => {
            Err("the body of a push must not be compressed")
        }
        _ => Ok(Git::Push(repository)),
    }
}

/// `/ann/site.git` is `ann/site`; a path that servers may read in two ways is no repository.
fn named(path: &str) -> Option<String> {
    let name = path.strip_prefix('/')?;
    let plain = |part: &str| {
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+@".contains(&byte);
        !part.is_empty() && !part.starts_with('.') && part.bytes().all(letters)
    };
    let name = name.strip_suffix(".git").unwrap_or(name);
    name.split('/').all(plain).then(|| name.to_owned())
}

fn is_fetch(path: &str, query: &str) -> bool {
    path.ends_with("/git-upload-pack")
        || (path.ends_with("/info/refs") && query == "service=git-upload-pack")
}

/// Whether some server could take it for a part of a push.
fn could_push(asked: &Asked, path: &str, query: &str) -> bool {
    let about_push = |text: &Option<String>| {
        text.as_ref().is_some_and(|text| text.to_ascii_lowercase().contains("git-receive-pack"))
    };
    if about_push(&asked.content_type) {
        return true;
    }
    let parts = parts(path);
    let is = |name| parts.iter().any(|part| part == name);
    is(RECEIVE) || (is("refs") && loosened(query).contains(RECEIVE))
}

/// The segments of a path as a careless server may read them.
fn parts(path: &str) -> Vec<String> {
    let loose = loosened(path).replace('\\', "/");
    let named = |part: &str| part.split(';').next().unwrap_or_default().trim().to_owned();
    loose.split('/').map(named).map(|part| part.trim_end_matches('.').to_owned()).collect()
}

/// Decoded as often as it goes, lower case, without control characters.
fn loosened(text: &str) -> String {
    let mut bytes = text.as_bytes().get(..LONGEST).unwrap_or(text.as_bytes()).to_vec();
    for _ in 0..MOST_DECODINGS {
        let decoded = decoded(&bytes);
        if decoded == bytes {
            break;
        }
        bytes = decoded;
    }
    bytes.retain(|byte| !byte.is_ascii_control());
    String::from_utf8_lossy(&bytes).to_lowercase()
}

fn decoded(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(target: &str) -> Asked {
        Asked { method: "GET".to_owned(), target: target.to_owned(), ..Asked::default() }
    }

    fn post(target: &str) -> Asked {
        let content_type = Some(PUSH_TYPE.to_owned());
        Asked { method: "POST".to_owned(), content_type, ..get(target) }
    }

    #[test]
    fn requests_as_git_sends_them() {
        let site = || "ann/site".to_owned();
        let discovery = "/ann/site.git/info/refs?service=git-receive-pack";
        assert_eq!(Git::of(&get(discovery)), Some(Git::Discovery(site())));
        assert_eq!(Git::of(&post("/ann/site.git/git-receive-pack")), Some(Git::Push(site())));
        assert_eq!(Git::of(&post("/ann/site/git-receive-pack")), Some(Git::Push(site())));
        let fetch = "/ann/site/info/refs?service=git-upload-pack";
        assert_eq!(Git::of(&get(fetch)), Some(Git::Fetch));
        let mut fetch = post("/ann/site/git-upload-pack");
        fetch.content_type = Some("application/x-git-upload-pack-request".to_owned());
        assert_eq!(Git::of(&fetch), Some(Git::Fetch));
        for other in ["/", "/ann/site", "/ann/site/info/refs", "/docs/git-receive-pack.html", "*"] {
            assert_eq!(Git::of(&get(other)), None, "{other}");
        }
    }

    #[test]
    fn other_spellings_are_recognised_and_refused() {
        let gets = [
            "/ann/site.git/info/refs?service=git%2dreceive-pack",
            "/ann/site.git/info/refs?service=git-receive-pack&x=y",
            "/ann/site.git/info/refs?x&service=GIT-receive-pack",
            "/ann/site.git//info/refs?service=git-receive-pack",
            "/ann/site.git/info/%72efs?service=git-receive-pack",
            "/ann/site.git/./info/refs?service=git-receive-pack",
            "/ann/%73ite.git/info/refs?service=git-receive-pack",
            "/ann/../eve/info/refs?service=git-receive-pack",
            "/ann/site.git/git-receive-pack",
            "/info/refs?service=git-receive-pack",
        ];
        let posts = [
            "/ann/site.git/git%2Dreceive-pack",
            "/ann/site.git/git%252dreceive-pack",
            "/ann/site.git//git-receive-pack",
            "/ann/site.git/git-receive-pack/",
            "/ann/site.git/git-receive-pack?x",
            "/ann/site.git/git-receive-pack;x",
            "/ann/site.git/Git-Receive-Pack",
            "/ann/site.git/git-receive-pack%20",
            "/ann/site.git/git-receive-pack%00",
            "/ann\\site.git\\git-receive-pack",
            "/anything",
        ];
        for target in gets {
            assert!(matches!(Git::of(&get(target)), Some(Git::Misspelled(_))), "{target}");
        }
        for target in posts {
            assert!(matches!(Git::of(&post(target)), Some(Git::Misspelled(_))), "{target}");
        }
        let push = post("/ann/site/git-receive-pack");
        for other in [
            Asked { method: "PUT".to_owned(), ..push.clone() },
            Asked { content_type: None, ..push.clone() },
            Asked { content_encoding: Some("gzip".to_owned()), ..push.clone() },
        ] {
            assert!(matches!(Git::of(&other), Some(Git::Misspelled(_))), "{other:?}");
        }
    }
}
