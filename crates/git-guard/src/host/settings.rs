//! What of a repository, or of the environment, makes git run a program, read from elsewhere, trust
//! something, or tell an untruth: git-config(1), githooks(5), gitrepository-layout(5), git(1),
//! gitattributes(5), gitmodules(5).
//!
//! The private directory reads none of it, so the table holds nothing back by itself. It says what
//! there is, and the tests try each row: that it acts on bare git, that it does not act here, and
//! that the person's own setting of the same name does, where there is one.

use Does::{Lies, Reads, Runs, Sends, Trusts};
use Yours::{Holds, NoSuch, Off};

/// What a setting makes git do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// A program is run.
    Runs,
    /// Something is read, or written, that is elsewhere.
    Reads,
    /// Something goes elsewhere over the network.
    Sends,
    /// Something is trusted that was not.
    Trusts,
    /// What is shown is not what there is.
    Lies,
}

/// What becomes of the person's own setting of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Yours {
    /// It holds.
    Holds,
    /// It is out of force, for this reason.
    Off(&'static str),
    /// There is none: it is a file of the repository, or git reads it from nowhere else.
    NoSuch,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// A key of git-config(1), with `*` for a name within it; a file of a Git directory; or a
    /// variable of the environment.
    pub name: &'static str,
    /// What it makes git do.
    pub does: Does,
    /// What becomes of the person's own.
    pub yours: Yours,
}

const fn row(name: &'static str, does: Does, yours: Yours) -> Setting {
    Setting { name, does, yours }
}

const NO_NETWORK: Yours = Off("no command reaches another repository");
const NO_INDEX_HINTS: Yours = Off("the repository's own index would say what it is not asked for");
const NOT_LOOKING: Yours = Off("the command it is for is not among those that look");

/// Keys of a repository's configuration.
pub const KEYS: &[Setting] = &[
    row("alias.*", Runs, Holds),
    row("browser.*.cmd", Runs, NOT_LOOKING),
    row("browser.*.path", Runs, NOT_LOOKING),
    row("bundle.*.uri", Sends, NO_NETWORK),
    row("commit.template", Reads, Holds),
    row("core.alternateRefsCommand", Runs, NO_NETWORK),
    row("core.askPass", Runs, Holds),
    row("core.attributesFile", Reads, Holds),
    row("core.commitGraph", Lies, Off("a graph of commits can name other parents")),
    row("core.editor", Runs, Holds),
    row("core.excludesFile", Reads, Holds),
    row("core.fsmonitor", Runs, NO_INDEX_HINTS),
    row("core.gitProxy", Runs, NO_NETWORK),
    row("core.hooksPath", Runs, Holds),
    row("core.multiPackIndex", Lies, Off("an index of packs can name other objects")),
    row("core.pager", Runs, Holds),
    row("core.sshCommand", Runs, NO_NETWORK),
    row("core.untrackedCache", Lies, NO_INDEX_HINTS),
    row("core.useReplaceRefs", Lies, Off("replacements show other objects")),
    row("core.worktree", Reads, NoSuch),
    row("credential.*", Runs, Holds),
    row("credential.helper", Runs, Holds),
    row("diff.*.command", Runs, Holds),
    row("diff.*.textconv", Runs, Holds),
    row("diff.external", Runs, Holds),
    row("diff.guitool", Runs, Holds),
    row("diff.orderFile", Reads, Holds),
    row("diff.tool", Runs, Holds),
    row("difftool.*.cmd", Runs, Holds),
    row("difftool.*.path", Runs, Holds),
    row("extensions.worktreeConfig", Trusts, NoSuch),
    row("fetch.bundleURI", Sends, NO_NETWORK),
    row("fetch.fsck.skipList", Trusts, NO_NETWORK),
    row("filter.*.clean", Runs, Holds),
    row("filter.*.process", Runs, Holds),
    row("filter.*.smudge", Runs, Holds),
    row("format.signatureFile", Reads, Holds),
    row("fsck.skipList", Trusts, Holds),
    row("gc.recentObjectsHook", Runs, Holds),
    row("gpg.*.program", Runs, Holds),
    row("gpg.program", Runs, Holds),
    row("gpg.ssh.allowedSignersFile", Trusts, Holds),
    row("gpg.ssh.defaultKeyCommand", Runs, Holds),
    row("gpg.ssh.revocationFile", Trusts, Holds),
    row("guitool.*.cmd", Runs, NOT_LOOKING),
    row("help.browser", Runs, NOT_LOOKING),
    row("help.htmlPath", Reads, Holds),
    row("http.*", Sends, NO_NETWORK),
    row("imap.tunnel", Runs, NOT_LOOKING),
    row("include.path", Trusts, Holds),
    row("includeIf.*.path", Trusts, Holds),
    row("init.templateDir", Runs, Off("no repository is made")),
    row("instaweb.*", Runs, NOT_LOOKING),
    row("interactive.diffFilter", Runs, Holds),
    row("mailmap.file", Reads, Holds),
    row("man.*.cmd", Runs, Holds),
    row("man.*.path", Runs, Holds),
    row("merge.*.driver", Runs, Holds),
    row("merge.guitool", Runs, NOT_LOOKING),
    row("merge.tool", Runs, NOT_LOOKING),
    row("mergetool.*.cmd", Runs, NOT_LOOKING),
    row("mergetool.*.path", Runs, NOT_LOOKING),
    row("pager.*", Runs, Holds),
    row("protocol.*.allow", Trusts, NO_NETWORK),
    row("protocol.allow", Trusts, NO_NETWORK),
    row("receive.fsck.skipList", Trusts, NO_NETWORK),
    row("receive.procReceiveRefs", Runs, NO_NETWORK),
    row("remote.*.promisor", Sends, NO_NETWORK),
    row("remote.*.proxy", Sends, NO_NETWORK),
    row("remote.*.receivepack", Runs, NO_NETWORK),
    row("remote.*.uploadpack", Runs, NO_NETWORK),
    row("remote.*.url", Runs, NO_NETWORK),
    row("remote.*.vcs", Runs, NO_NETWORK),
    row("safe.bareRepository", Trusts, Off("no repository is found by its place")),
    row("safe.directory", Trusts, Holds),
    row("sendemail.*", Runs, NOT_LOOKING),
    row("sequence.editor", Runs, Holds),
    row("submodule.*.update", Runs, NOT_LOOKING),
    row("tar.*.command", Runs, Holds),
    row("trace2.*", Reads, Holds),
    row("trailer.*.cmd", Runs, Holds),
    row("trailer.*.command", Runs, Holds),
    row("uploadpack.packObjectsHook", Runs, NO_NETWORK),
    row("url.*.insteadOf", Sends, NO_NETWORK),
    row("url.*.pushInsteadOf", Sends, NO_NETWORK),
    row("user.signingKey", Reads, Holds),
    row("web.browser", Runs, NOT_LOOKING),
];

/// Files of a Git directory, or of the working directory.
pub const FILES: &[Setting] = &[
    row(".git", Reads, NoSuch),
    row(".gitattributes", Runs, Holds),
    row(".gitmodules", Trusts, NoSuch),
    row("branches", Sends, NoSuch),
    row("commondir", Trusts, NoSuch),
    row("config", Trusts, NoSuch),
    row("config.worktree", Trusts, NoSuch),
    row("hooks", Runs, Holds),
    row("info/attributes", Runs, NoSuch),
    row("info/grafts", Lies, NoSuch),
    row("modules", Trusts, NoSuch),
    row("objects/info/alternates", Reads, NoSuch),
    row("objects/info/commit-graph", Lies, NoSuch),
    row("rebase-merge/git-rebase-todo", Runs, NoSuch),
    row("refs/replace", Lies, NoSuch),
    row("remotes", Sends, NoSuch),
];

/// Variables, which something else may have set.
pub const VARIABLES: &[Setting] = &[
    row("GIT_ASKPASS", Runs, Off("core.askPass says it")),
    row("GIT_CONFIG_COUNT", Trusts, Off("-c says it")),
    row("GIT_CONFIG_PARAMETERS", Trusts, Off("-c says it")),
    row("GIT_DIR", Reads, Off("-C says it")),
    row("GIT_EDITOR", Runs, Off("core.editor says it")),
    row("GIT_EXEC_PATH", Runs, Off("git knows its own")),
    row("GIT_EXTERNAL_DIFF", Runs, Off("diff.external says it")),
    row("GIT_INDEX_FILE", Reads, Off("the repository has one")),
    row("GIT_OBJECT_DIRECTORY", Reads, Off("the repository has one")),
    row("GIT_PROXY_COMMAND", Runs, NO_NETWORK),
    row("GIT_SEQUENCE_EDITOR", Runs, Off("sequence.editor says it")),
    row("GIT_SSH", Runs, NO_NETWORK),
    row("GIT_SSH_COMMAND", Runs, NO_NETWORK),
    row("GIT_TEMPLATE_DIR", Runs, Off("no repository is made")),
    row("GIT_TRACE", Reads, Off("trace2 in your configuration says it")),
    row("GIT_WORK_TREE", Reads, Off("-C says it")),
    row("PATH", Runs, Off("for what lies below the repository")),
];

/// All of it.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    KEYS.iter().chain(FILES).chain(VARIABLES)
}

/// The row that a key of git-config(1) belongs to.
#[must_use]
pub fn of_key(key: &str) -> Option<&'static Setting> {
    let key = key.to_ascii_lowercase();
    KEYS.iter().find(|setting| policy::guarded::glob(&setting.name.to_ascii_lowercase(), &key))
}
