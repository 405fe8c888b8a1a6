//! What one rule or grant says about one action, if it is about it at all.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use names::Port;

use super::Entry;
use super::plain;
use crate::action::{Action, Exec, Http};
use crate::authority::Publication;
use crate::lease::LeaseGrant;
use crate::pattern::{ProgramPattern, WordPattern};
use crate::rule::{Match, Outcome, Target};

pub(super) fn says(entry: Entry<'_>, action: &Action) -> Option<Outcome> {
    match entry {
        Entry::Rule(rule) => rule_says(rule.verdict, &rule.when, action),
        Entry::Grant(grant) => grant_says(&grant.target, action),
        Entry::Lease(lease) => lease_says(lease, action),
        Entry::Publication(publication) => publication_says(publication, action),
    }
}

fn rule_says(verdict: Outcome, when: &Match, action: &Action) -> Option<Outcome> {
    let matches = match (when, action) {
        (Match::Connect(target), _) => return connect_rule_says(verdict, target, action),
        (Match::Http(target), _) => return http_rule_says(verdict, target, action),
        (Match::Resolve(target), Action::Resolve(resolve)) => target.host.matches(&resolve.host),
        (Match::Exec { program, args, cwd }, Action::Exec(exec)) => {
            runs(program, exec, verdict)
                && args.as_ref().is_none_or(|args| args.matches(&exec.args))
                && cwd.as_ref().is_none_or(|cwd| cwd.matches(bytes(&exec.cwd)))
        }
        (Match::Open { path, access }, Action::Open(open)) => {
            access.is_none_or(|access| access == open.access) && path.matches(bytes(&open.path))
        }
        (Match::Mount { path, access }, Action::Mount(mount)) => {
            let mounted = bytes(&mount.path);
            access.is_none_or(|access| access == mount.access)
                && (path.matches(mounted) || path.starts_below(mounted))
        }
        (Match::GitPush { host, repository, refs, changes }, Action::GitPush(push)) => {
            host.as_ref().is_none_or(|host| host.matches(&push.host))
                && repository.as_ref().is_none_or(|word| is_word(word, &push.repository, verdict))
                && among(refs, |word| is_word(word, push.reference.as_str(), verdict))
                && among(changes, |change| *change == push.change)
        }
        (Match::Docker { operation, target }, Action::Docker(docker)) => {
            operation.as_ref().is_none_or(|pattern| pattern.matches(&docker.operation))
                && target.as_ref().is_none_or(|pattern| pattern.matches(&docker.target))
        }
        (Match::Lease { name, host, ports }, Action::Lease(lease)) => {
            name.as_ref().is_none_or(|pattern| pattern.matches(&lease.name))
                && host.as_ref().is_none_or(|host| host.matches(&lease.host))
                && has_port(ports, lease.port)
        }
        (Match::Publish { ports }, Action::Publish(publish)) => has_port(ports, publish.port),
        (Match::Tool { name }, Action::Tool(tool)) => {
            name.as_ref().is_none_or(|pattern| pattern.matches(&tool.name))
        }
        (Match::Apply { flagged }, Action::Apply(apply)) => {
            flagged.is_none_or(|flagged| flagged != apply.flagged.is_empty())
        }
        (Match::Branch { flagged }, Action::Branch(branch)) => {
            flagged.is_none_or(|flagged| flagged != branch.flagged.is_empty())
        }
        (Match::Discard, Action::Discard(_)) | (Match::Undo, Action::Undo(_)) => true,
        _ => false,
    };
    matches.then_some(verdict)
}

/// Whether a rule is about the program that runs. Under which other names it runs is up to whoever
/// starts it: a name of its own making must not gain it what a rule allows.
fn runs(pattern: &ProgramPattern, exec: &Exec, verdict: Outcome) -> bool {
    let called = || exec.called.iter().any(|name| pattern.matches(bytes(name)));
    pattern.matches(bytes(&exec.program)) || (verdict != Outcome::Allow && called())
}

/// Whether a rule is about this name of a remote. Some hosts, and some file systems under them, take
/// names that differ in case for the same: what is denied or asked about is meant in every case,
/// what is allowed as it is written.
fn is_word(pattern: &WordPattern, name: &str, verdict: Outcome) -> bool {
    pattern.matches(name) || (verdict != Outcome::Allow && pattern.matches_folded(name))
}

/// A rule about connections. What it asks about or allows must have a name that can be looked up
/// and may carry requests; the person is asked once, at the connection. What it denies for every
/// port needs no name, and what it denies can't carry requests.
fn connect_rule_says(verdict: Outcome, target: &Target, action: &Action) -> Option<Outcome> {
    let implied = if verdict == Outcome::Deny { Outcome::Deny } else { Outcome::Allow };
    match action {
        Action::Connect(connect) => (target.host.matches(&connect.host)
            && has_port(&target.ports, connect.port))
        .then_some(verdict),
        // The owner's list may have narrowed a project's rule to some requests.
        Action::Http(http) => carries(target, http, verdict == Outcome::Deny).then_some(implied),
        Action::Resolve(resolve) => {
            let about = implied == Outcome::Allow || target.ports.is_none();
            (about && target.host.matches(&resolve.host)).then_some(implied)
        }
        _ => None,
    }
}

/// A rule about requests. What it asks about or allows needs a connection and a name; what it
/// denies says nothing about either.
fn http_rule_says(verdict: Outcome, target: &Target, action: &Action) -> Option<Outcome> {
    let widens = verdict != Outcome::Deny;
    match action {
        Action::Http(http) => carries(target, http, verdict != Outcome::Allow).then_some(verdict),
        Action::Connect(connect) => {
            (widens && target.host.matches(&connect.host) && has_port(&target.ports, connect.port))
                .then_some(Outcome::Allow)
        }
        Action::Resolve(resolve) => {
            (widens && target.host.matches(&resolve.host)).then_some(Outcome::Allow)
        }
        _ => None,
    }
}

/// A grant is a destination: its name, connections to it, and the requests it lists.
fn grant_says(target: &Target, action: &Action) -> Option<Outcome> {
    let matches = !target.is_empty()
        && match action {
            Action::Resolve(resolve) => target.host.matches(&resolve.host),
            Action::Connect(connect) => {
                target.host.matches(&connect.host) && has_port(&target.ports, connect.port)
            }
            Action::Http(http) => carries(target, http, false),
            _ => false,
        };
    matches.then_some(Outcome::Allow)
}

/// A lease may be lent to its destination.
fn lease_says(lease: &LeaseGrant, action: &Action) -> Option<Outcome> {
    let Action::Lease(asked) = action else { return None };
    let target = &lease.target;
    let matches = asked.name == lease.name
        && target.host.matches(&asked.host)
        && has_port(&target.ports, asked.port);
    matches.then_some(Outcome::Allow)
}

/// What is published may be connected to.
fn publication_says(publication: &Publication, action: &Action) -> Option<Outcome> {
    let Action::Publish(asked) = action else { return None };
    (asked.port == publication.port).then_some(Outcome::Allow)
}

/// Whether a request is one of the target's. A path that a server may read in two ways
/// `if_unclear` counts as each of them.
pub(super) fn carries(target: &Target, http: &Http, if_unclear: bool) -> bool {
    let path = || plain::url_path(&http.path);
    target.host.matches(&http.host)
        && has_port(&target.ports, http.port)
        && among(&target.methods, |method| method.word() == http.method)
        && match (&target.paths, path()) {
            (None, _) => true,
            (Some(paths), Some(path)) => paths.iter().any(|pattern| pattern.matches(path)),
            (Some(_), None) => if_unclear,
        }
}

pub(super) fn has_port(ports: &Option<Vec<Port>>, port: Port) -> bool {
    among(ports, |listed| *listed == port)
}

fn among<T>(list: &Option<Vec<T>>, is_it: impl Fn(&T) -> bool) -> bool {
    list.as_ref().is_none_or(|list| list.iter().any(is_it))
}

pub(super) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}
