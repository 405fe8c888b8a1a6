//! Which changes of a repository's Git configuration are ordinary: those that Git makes itself in
//! daily work, and that make it run and trust nothing.
//!
//! What this reader does not understand is not ordinary. It reads less than Git does, never more.

use std::collections::BTreeMap;

/// The most bytes of a configuration that is looked at.
const LONGEST: usize = 1 << 20;

/// What a value may be.
enum Value {
    /// `true`, `false` and the like, or a number.
    Plain,
    /// Letters, digits and `._/+*:@-`, which name branches, remotes and refspecs.
    Word,
    /// Any text: it is shown and never run.
    Text,
    /// Where a repository is: https, ssh or `host:path`.
    Url,
}

use Value::{Plain, Text, Url, Word};

/// Ordinary keys: git-config(1). A section with a name of its own is written `section.*`.
const ORDINARY: &[(&str, &str, Value)] = &[
    ("core", "repositoryformatversion", Plain),
    ("core", "filemode", Plain),
    ("core", "bare", Plain),
    ("core", "logallrefupdates", Plain),
    ("core", "ignorecase", Plain),
    ("core", "precomposeunicode", Plain),
    ("core", "symlinks", Plain),
    ("core", "autocrlf", Word),
    ("core", "eol", Word),
    ("core", "sparsecheckout", Plain),
    ("core", "sparsecheckoutcone", Plain),
    ("index", "sparse", Plain),
    ("extensions", "objectformat", Word),
    ("extensions", "refstorage", Word),
    ("extensions", "worktreeconfig", Plain),
    ("user", "name", Text),
    ("user", "email", Text),
    ("init", "defaultbranch", Word),
    ("pull", "rebase", Plain),
    ("push", "default", Word),
    ("gc", "auto", Plain),
    ("remote.*", "url", Url),
    ("remote.*", "pushurl", Url),
    ("remote.*", "fetch", Word),
    ("remote.*", "prune", Plain),
    ("remote.*", "tagopt", Word),
    ("branch.*", "remote", Word),
    ("branch.*", "merge", Word),
    ("branch.*", "rebase", Plain),
    ("branch.*", "description", Text),
    ("branch.*", "vscode-merge-base", Word),
    ("branch.*", "gh-merge-base", Word),
    ("submodule.*", "active", Plain),
    ("submodule.*", "url", Url),
];

/// How often each setting occurs.
type Settings = BTreeMap<(String, String, String), u32>;

/// Whether `after` differs from `before` in ordinary settings only.
#[must_use]
pub fn is_ordinary_change(before: &[u8], after: &[u8]) -> bool {
    let (Some(before), Some(after)) = (read(before), read(after)) else { return false };
    let differs = |one: &Settings, other: &Settings| {
        let changed = one.iter().filter(|(setting, count)| other.get(*setting) != Some(*count));
        changed.map(|(setting, _)| setting.clone()).collect::<Vec<_>>()
    };
    let changed = differs(&before, &after).into_iter().chain(differs(&after, &before));
    changed.into_iter().all(|(section, key, value)| is_ordinary(&section, &key, &value))
}

/// The ordinary settings of a configuration, as section (`remote.origin`), key and value; `None`
/// when it has a line that is not understood.
#[must_use]
pub fn ordinary(text: &[u8]) -> Option<Vec<(String, String, String)>> {
    let settings = read(text)?.into_keys();
    Some(settings.filter(|(section, key, value)| is_ordinary(section, key, value)).collect())
}

fn is_ordinary(section: &str, key: &str, value: &str) -> bool {
    ORDINARY.iter().any(|(in_section, named, kind)| {
        let same = match in_section.strip_suffix(".*") {
            Some(start) => section.strip_prefix(start).is_some_and(|rest| rest.starts_with('.')),
            None => section == *in_section,
        };
        same && key == *named && fits(kind, value)
    })
}

fn fits(kind: &Value, value: &str) -> bool {
    match kind {
        Plain => {
            matches!(value, "true" | "false" | "yes" | "no" | "on" | "off" | "always" | "")
                || value.bytes().all(|byte| byte.is_ascii_digit())
        }
        Word => is_word(value),
        Text => true,
        Url => is_url(value),
    }
}

/// Not an option, and not `transport::address`, which names a program: gitremote-helpers(7).
fn is_word(value: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/+*:@-".contains(c);
    !value.is_empty()
        && !value.starts_with('-')
        && !value.contains("::")
        && value.chars().all(plain)
}

fn is_url(value: &str) -> bool {
    let rest =
        ["https://", "http://", "ssh://", "git://"].iter().find_map(|s| value.strip_prefix(s));
    let plain = |c: char| c.is_ascii_graphic() && !"`$\"'\\;|&<>(){}".contains(c);
    match rest {
        Some(rest) => !rest.starts_with('-') && value.chars().all(plain),
        // `host:path`, as ssh has it; a path of the host's own is not ordinary.
        None => {
            let host = value.split_once(':').filter(|(host, path)| {
                !host.contains('/') && !path.starts_with('-') && !host.is_empty()
            });
            host.is_some() && is_word(value)
        }
    }
}

/// Every setting of a configuration, or `None` when a line is not understood.
fn read(text: &[u8]) -> Option<Settings> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= LONGEST)?;
    let (mut settings, mut section) = (Settings::new(), None);
    for line in text.lines().map(str::trim) {
        match line.chars().next() {
            None | Some('#' | ';') => {}
            Some('[') => section = Some(read_section(line)?),
            Some(_) => {
                let (key, value) = read_setting(line)?;
                *settings.entry((section.clone()?, key, value)).or_insert(0) += 1;
            }
        }
    }
    Some(settings)
}

/// `[section]` or `[section "name"]`, alone on its line.
fn read_section(line: &str) -> Option<String> {
    let inside = line.strip_prefix('[')?.strip_suffix(']')?;
    let word = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    match inside.split_once(' ') {
        None => word(inside).then(|| inside.to_ascii_lowercase()),
        Some((section, name)) => {
            let name = name.trim_start().strip_prefix('"')?.strip_suffix('"')?;
            let plain = !name.contains(['"', '\\', ']']);
            (word(section) && plain).then(|| format!("{}.{name}", section.to_ascii_lowercase()))
        }
    }
}

/// `key = value` without quotes, escapes, continuations or comments; a key alone means true.
fn read_setting(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once('=').unwrap_or((line, "true"));
    let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
    let first = key.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let plain_key = first && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let plain_value = !value.contains(['"', '\\', '#', ';']);
    (plain_key && plain_value).then(|| (key, value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n";

    fn ordinary(before: &str, added: &str) -> bool {
        is_ordinary_change(before.as_bytes(), format!("{before}{added}").as_bytes())
    }

    #[test]
    fn daily_work_is_ordinary() {
        assert!(ordinary("", NEW));
        for added in [
            "[remote \"origin\"]\n\turl = https://github.com/a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[remote \"origin\"]\n\turl = git@github.com:a/b.git\n",
            "[branch \"loop/x\"]\n\tremote = origin\n\tmerge = refs/heads/loop/x\n",
            "[user]\n\tname = A B\n\temail = a@b.example\n",
            "[submodule \"x\"]\n\tactive = true\n",
            "; a comment\n\n",
        ] {
            assert!(ordinary(NEW, added), "{added}");
        }
        assert!(is_ordinary_change(NEW.as_bytes(), b""), "removing them is ordinary too");
    }

    #[test]
    fn what_runs_or_redirects_is_not() {
        for added in [
            "[core]\n\tfsmonitor = ./x\n",
            "[core]\n\thooksPath = x\n",
            "[core] sshCommand = x\n",
            "[CORE]\n\tSSHCOMMAND = x\n",
            "[core]\n\tworktree = /home\n",
            "[alias]\n\tst = !sh\n",
            "[include]\n\tpath = x\n",
            "[includeIf \"gitdir:x\"]\n\tpath = x\n",
            "[remote \"o\"]\n\turl = ext::sh -c x\n",
            "[remote \"o\"]\n\turl = /srv/repository\n",
            "[remote \"o\"]\n\turl = ssh://-oProxyCommand=x/y\n",
            "[remote \"o\"]\n\turl = -upload-pack=x:y\n",
            "[remote \"o\"]\n\tuploadpack = x\n",
            "[branch \"m\"]\n\tremote = ext::sh\n",
            "[submodule \"x\"]\n\tupdate = !sh\n",
            "[filter \"x\"]\n\tclean = sh\n",
            "[credential]\n\thelper = !sh\n",
            "[user]\n\tname = \\\n[core]\n\tfsmonitor = x\n",
            "[user]\n\tname = \"x\n",
            "[remote \"a\\\"]\n\turl = https://x/y\n",
            "no section\n[",
            "[gpg]\n\tprogram = x\n",
        ] {
            assert!(!ordinary(NEW, added), "{added}");
        }
        assert!(!is_ordinary_change(b"", b"\xff"));
        let hooked = "[core]\n\thooksPath = x\n";
        assert!(!is_ordinary_change(hooked.as_bytes(), b""), "removing a hook path is no less");
    }
}
