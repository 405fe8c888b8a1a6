//! What a run knows of the repositories that it pushes to: which references there are, and which of
//! them it made itself. It holds no more than it needs, and only as long as the run.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use names::{Host, ObjectId, Port, RefName};

use crate::wire::advert::Advertised;
use crate::wire::push::Command;

/// Most repositories whose references are kept; of the others they are asked for again.
const MOST_REPOSITORIES: usize = 4;
/// Most references that are remembered as the run's own.
const MOST_OWN: usize = 10_000;

/// A repository of a host.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Remote {
    pub(crate) host: Host,
    pub(crate) port: Port,
    pub(crate) repository: String,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Remotes {
    advertised: VecDeque<(Remote, Arc<Advertised>)>,
    own: HashMap<(Remote, RefName), ObjectId>,
}

impl Remotes {
    /// Remembers what a remote says there is.
    pub(crate) fn learn(&mut self, remote: Remote, advertised: Advertised) {
        self.advertised.retain(|(known, _)| *known != remote);
        self.advertised.push_back((remote, Arc::new(advertised)));
        if self.advertised.len() > MOST_REPOSITORIES {
            self.advertised.pop_front();
        }
    }

    /// What it said last.
    pub(crate) fn advertised(&self, remote: &Remote) -> Option<Arc<Advertised>> {
        let known = self.advertised.iter().find(|(known, _)| known == remote);
        known.map(|(_, advertised)| advertised.clone())
    }

    /// Whether the reference is where this run put it. The server moves it from there only, so what
    /// somebody else has put there since is not lost.
    pub(crate) fn is_own(&self, remote: &Remote, command: &Command) -> bool {
        let key = (remote.clone(), command.reference.clone());
        self.own.get(&key) == Some(&command.old)
    }

    /// Remembers what a server said it changed.
    pub(crate) fn changed(&mut self, remote: &Remote, command: &Command) {
        let key = (remote.clone(), command.reference.clone());
        let is_ours = command.old.is_null() || self.own.get(&key) == Some(&command.old);
        if command.new.is_null() || !is_ours {
            self.own.remove(&key);
        } else if self.own.len() < MOST_OWN || self.own.contains_key(&key) {
            self.own.insert(key, command.new.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(repository: &str) -> Remote {
        let host = Host::parse("github.com").unwrap();
        Remote { host, port: Port::HTTPS, repository: repository.to_owned() }
    }

    fn command(old: &str, new: &str) -> Command {
        let id = |digit: &str| ObjectId::parse(&digit.repeat(40)).unwrap();
        let reference = RefName::parse("refs/heads/loop/x").unwrap();
        Command { old: id(old), new: id(new), reference }
    }

    #[test]
    fn own_is_what_this_run_made_and_nobody_moved() {
        let (mut remotes, site) = (Remotes::default(), remote("ann/site"));
        assert!(!remotes.is_own(&site, &command("1", "2")));
        remotes.changed(&site, &command("0", "1"));
        assert!(remotes.is_own(&site, &command("1", "2")));
        assert!(!remotes.is_own(&site, &command("3", "2")), "somebody moved it");
        assert!(!remotes.is_own(&remote("ann/other"), &command("1", "2")));
        remotes.changed(&site, &command("1", "2"));
        assert!(remotes.is_own(&site, &command("2", "3")));
        remotes.changed(&site, &command("2", "0"));
        assert!(!remotes.is_own(&site, &command("2", "3")));
        // Moving what somebody else made does not make it one's own.
        remotes.changed(&site, &command("4", "5"));
        assert!(!remotes.is_own(&site, &command("5", "6")));
    }

    #[test]
    fn few_repositories_are_kept() {
        let mut remotes = Remotes::default();
        for number in 0..10 {
            remotes.learn(remote(&number.to_string()), Advertised::default());
        }
        assert!(remotes.advertised(&remote("9")).is_some());
        assert!(remotes.advertised(&remote("5")).is_none());
    }
}
