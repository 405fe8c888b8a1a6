//! Names that mean more than their bytes: what the host executes, trusts or obeys later.
//!
//! One table for two uses: an entry of a change set with such a name needs its own approval before
//! it is applied, and in direct mode a person is asked before such a file is written.

use std::sync::LazyLock;

use names::is_invisible;

/// A row of the table: a path pattern, and what it is. `*` is any text within one component.
///
/// A pattern matches at any depth, the path itself and everything below it, whatever the case of
/// its letters.
#[derive(Debug, Clone, Copy)]
pub struct Row(pub &'static str, pub Meaning);

/// What a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Something is executed or trusted for it.
    Protected(&'static str),
    /// Text that agents obey.
    Instructions,
}

use Meaning::{Instructions, Protected as Runs};

/// The table. Sources: documentation of the tools named, and advisories about sandboxes that
/// missed one of these names.
pub const TABLE: &[Row] = &[
    // Loop itself
    Row(".loop", Runs("loop configuration")),
    // Git, outside of repositories' own metadata
    Row(".gitmodules", Runs("git submodules")),
    Row(".gitattributes", Runs("git attributes")),
    Row(".gitconfig", Runs("git configuration")),
    Row(".githooks", Runs("git hooks")),
    Row(".husky", Runs("git hooks")),
    Row("lefthook.yml", Runs("git hooks")),
    Row("lefthook.yaml", Runs("git hooks")),
    Row(".lefthook.yml", Runs("git hooks")),
    Row(".pre-commit-config.yaml", Runs("git hooks")),
    Row(".pre-commit-config.yml", Runs("git hooks")),
    // Agents: settings that start programs or widen rights
    Row(".claude/settings*.json", Runs("agent settings")),
    Row(".claude/hooks", Runs("agent hooks")),
    Row(".claude.json", Runs("agent settings")),
    Row(".mcp.json", Runs("agent tools")),
    Row("mcp.json", Runs("agent tools")),
    Row(".codex", Runs("agent settings")),
    Row(".cursor", Runs("agent settings")),
    Row(".gemini", Runs("agent settings")),
    Row(".windsurf", Runs("agent settings")),
    Row(".kiro", Runs("agent settings")),
    Row(".opencode", Runs("agent settings")),
    Row("opencode.json", Runs("agent settings")),
    Row("opencode.jsonc", Runs("agent settings")),
    Row(".aider.conf.yml", Runs("agent settings")),
    Row(".continue", Runs("agent settings")),
    Row(".roo", Runs("agent settings")),
    Row(".amazonq", Runs("agent settings")),
    // Editors: tasks and settings that name programs
    Row(".vscode", Runs("editor settings")),
    Row("*.code-workspace", Runs("editor settings")),
    Row(".idea", Runs("editor settings")),
    Row(".fleet", Runs("editor settings")),
    Row(".zed", Runs("editor settings")),
    Row(".helix", Runs("editor settings")),
    Row(".devcontainer", Runs("development container")),
    Row(".devcontainer.json", Runs("development container")),
    Row(".exrc", Runs("editor settings")),
    Row(".vimrc", Runs("editor settings")),
    Row("_vimrc", Runs("editor settings")),
    Row(".nvimrc", Runs("editor settings")),
    Row(".nvim.lua", Runs("editor settings")),
    Row(".vim", Runs("editor settings")),
    Row(".dir-locals.el", Runs("editor settings")),
    Row(".dir-locals-2.el", Runs("editor settings")),
    Row(".sublime-project", Runs("editor settings")),
    Row("*.sublime-project", Runs("editor settings")),
    // Shells and what they load when a directory is entered
    Row(".envrc", Runs("directory environment")),
    Row(".direnv", Runs("directory environment")),
    Row(".env.vault", Runs("directory environment")),
    Row(".autoenv", Runs("directory environment")),
    Row(".autoenv.zsh", Runs("directory environment")),
    Row("mise.toml", Runs("directory environment")),
    Row(".mise.toml", Runs("directory environment")),
    Row(".mise", Runs("directory environment")),
    Row(".bashrc", Runs("shell start-up file")),
    Row(".bash_profile", Runs("shell start-up file")),
    Row(".bash_login", Runs("shell start-up file")),
    Row(".bash_logout", Runs("shell start-up file")),
    Row(".bash_aliases", Runs("shell start-up file")),
    Row(".profile", Runs("shell start-up file")),
    Row(".zshrc", Runs("shell start-up file")),
    Row(".zshenv", Runs("shell start-up file")),
    Row(".zprofile", Runs("shell start-up file")),
    Row(".zlogin", Runs("shell start-up file")),
    Row(".zlogout", Runs("shell start-up file")),
    Row(".kshrc", Runs("shell start-up file")),
    Row(".cshrc", Runs("shell start-up file")),
    Row(".tcshrc", Runs("shell start-up file")),
    Row(".inputrc", Runs("shell start-up file")),
    Row(".config/fish", Runs("shell start-up file")),
    Row(".tmux.conf", Runs("shell start-up file")),
    Row(".screenrc", Runs("shell start-up file")),
    Row(".xprofile", Runs("session start-up file")),
    Row(".xsession", Runs("session start-up file")),
    Row(".xinitrc", Runs("session start-up file")),
    Row(".config/autostart", Runs("session start-up file")),
    Row(".config/systemd", Runs("session start-up file")),
    // Credentials and trust of other tools
    Row(".ssh", Runs("ssh configuration")),
    Row(".gnupg", Runs("gpg configuration")),
    Row(".netrc", Runs("credentials")),
    Row(".npmrc", Runs("package manager settings")),
    Row(".yarnrc", Runs("package manager settings")),
    Row(".yarnrc.yml", Runs("package manager settings")),
    Row(".yarn/plugins", Runs("package manager settings")),
    Row(".yarn/releases", Runs("package manager settings")),
    Row(".pnpmfile.cjs", Runs("package manager settings")),
    Row("pip.conf", Runs("package manager settings")),
    Row(".pypirc", Runs("package manager settings")),
    Row(".cargo/config", Runs("package manager settings")),
    Row(".cargo/config.toml", Runs("package manager settings")),
    Row(".bazelrc", Runs("package manager settings")),
    Row(".mvn", Runs("package manager settings")),
    Row("sitecustomize.py", Runs("python start-up file")),
    Row("usercustomize.py", Runs("python start-up file")),
    Row(".gdbinit", Runs("debugger start-up file")),
    Row(".lldbinit", Runs("debugger start-up file")),
    Row(".pdbrc", Runs("debugger start-up file")),
    // Continuous integration: runs with other people's credentials
    Row(".github/workflows", Runs("continuous integration")),
    Row(".github/actions", Runs("continuous integration")),
    Row(".github/CODEOWNERS", Runs("review rules")),
    Row("CODEOWNERS", Runs("review rules")),
    Row(".github/dependabot.yml", Runs("continuous integration")),
    Row(".gitlab-ci.yml", Runs("continuous integration")),
    Row(".gitlab/ci", Runs("continuous integration")),
    Row(".circleci", Runs("continuous integration")),
    Row(".buildkite", Runs("continuous integration")),
    Row(".drone.yml", Runs("continuous integration")),
    Row(".woodpecker", Runs("continuous integration")),
    Row(".woodpecker.yml", Runs("continuous integration")),
    Row(".travis.yml", Runs("continuous integration")),
    Row(".ci", Runs("continuous integration")),
    Row("azure-pipelines.yml", Runs("continuous integration")),
    Row("bitbucket-pipelines.yml", Runs("continuous integration")),
    Row("Jenkinsfile", Runs("continuous integration")),
    Row(".forgejo/workflows", Runs("continuous integration")),
    Row(".gitea/workflows", Runs("continuous integration")),
    // Text that agents obey
    Row("AGENTS.md", Instructions),
    Row("AGENTS.override.md", Instructions),
    Row("AGENT.md", Instructions),
    Row("CLAUDE.md", Instructions),
    Row("CLAUDE.local.md", Instructions),
    Row("GEMINI.md", Instructions),
    Row("CONVENTIONS.md", Instructions),
    Row(".claude", Instructions),
    Row(".agents", Instructions),
    Row(".agent", Instructions),
    Row("SKILL.md", Instructions),
    Row(".cursorrules", Instructions),
    Row(".windsurfrules", Instructions),
    Row(".clinerules", Instructions),
    Row(".roorules", Instructions),
    Row(".goosehints", Instructions),
    Row(".rules", Instructions),
    Row(".github/copilot-instructions.md", Instructions),
    Row(".github/instructions", Instructions),
    Row(".github/prompts", Instructions),
    Row(".github/agents", Instructions),
    Row(".github/chatmodes", Instructions),
    Row(".junie", Instructions),
    Row("llms.txt", Instructions),
];

/// What a file of Git's own is that the host would act on, though most of Git's files are data.
const GIT: Meaning = Runs("git configuration");

/// Directories of Git's own in which no name makes Git run or trust something.
const GIT_DATA: [&str; 4] = ["refs", "logs", "lfs", "rr-cache"];

/// What the file at `path`, below a project, means to the host, if anything. Of Git's own files
/// only those count that make Git run or trust something.
#[must_use]
pub fn meaning(path: &[u8]) -> Option<Meaning> {
    let names: Vec<String> =
        path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).map(fold).collect();
    if let Some(git) = names.iter().position(|name| is_git(name)) {
        return acts_for_git(names.get(git + 1..).unwrap_or_default()).then_some(GIT);
    }
    let ends = |pattern: &[String], upto: usize| {
        let tail = upto.checked_sub(pattern.len()).and_then(|start| names.get(start..upto));
        tail.is_some_and(|tail| tail.iter().zip(pattern).all(|(name, part)| glob(part, name)))
    };
    let row = |upto: usize| FOLDED.iter().find(|(pattern, _)| ends(pattern, upto));
    (1..=names.len()).find_map(row).map(|(_, meaning)| *meaning)
}

/// The table with its names folded, once.
static FOLDED: LazyLock<Vec<(Vec<String>, Meaning)>> = LazyLock::new(|| {
    let parts = |row: &Row| row.0.split('/').map(|part| fold(part.as_bytes())).collect();
    TABLE.iter().map(|row| (parts(row), row.1)).collect()
});

/// Whether what is below a directory, or behind a link, that comes to be at `path` could have names
/// that mean something: its own name is the start of such a name.
#[must_use]
pub fn may_hold(path: &[u8]) -> bool {
    let mut names = path.split(|byte| *byte == b'/').map(fold);
    if names.any(|name| is_git(&name)) {
        return names.next().is_none_or(|first| !GIT_DATA.contains(&first.as_str()));
    }
    let last = path.rsplit(|byte| *byte == b'/').next().map(fold).unwrap_or_default();
    let starts = |pattern: &[String]| {
        let start = pattern.split_last().map(|(_, start)| start).unwrap_or_default();
        start.iter().any(|part| glob(part, &last))
    };
    meaning(path).is_some() || FOLDED.iter().any(|(pattern, _)| starts(pattern))
}

/// Names within a Git directory that make Git run or trust something: githooks(5), git-config(1),
/// gitrepository-layout(5). The pointer file `.git` itself has no name within.
fn acts_for_git(names: &[String]) -> bool {
    let Some(first) = names.first() else { return true };
    if first == "objects" {
        return names.last().is_some_and(|name| name.ends_with("alternates"));
    }
    let hook = names.iter().position(|name| name == "hooks");
    let is_sample = names.last().is_some_and(|name| name.ends_with(".sample"));
    let redirects = ["config", "config.worktree", "commondir", "attributes"];
    let is_redirect = names.last().is_some_and(|name| redirects.contains(&name.as_str()));
    !GIT_DATA.contains(&first.as_str()) && ((hook.is_some() && !is_sample) || is_redirect)
}

/// Whether a name is that of Git's own directory on some file system.
#[must_use]
pub fn is_git_name(name: &[u8]) -> bool {
    // Folding takes only dots, spaces and non-ASCII characters away.
    let plain = name.is_ascii() && !name.ends_with(b".") && !name.ends_with(b" ");
    if plain {
        [b".git".as_slice(), b"git~1"].iter().any(|git| name.eq_ignore_ascii_case(git))
    } else {
        is_git(&fold(name))
    }
}

/// Whether a folded name is that of Git's own directory.
///
/// `git~1` is the short name of `.git` on file systems that have them, and Git refuses it too.
#[must_use]
pub fn is_git(folded: &str) -> bool {
    matches!(folded, ".git" | "git~1")
}

/// The name without differences that some file system or editor ignores: case, characters that
/// show nothing, and dots and spaces at the end.
#[must_use]
pub fn fold(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let visible =
        text.chars().filter(|c| !is_invisible(*c) && !matches!(c, '\u{fe0e}' | '\u{fe0f}'));
    let folded: String =
        visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    let end = folded.trim_end_matches([' ', '.']);
    if end.is_empty() { folded } else { end.to_owned() }
}

/// Does `name` match `pattern`, where `*` is any text?
#[must_use]
pub fn glob(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_git_only_what_acts() {
        for path in [
            ".git",
            "a/.git",
            ".git/config",
            ".GIT/Config",
            ".git/config.worktree",
            ".git/hooks/pre-commit",
            ".git/modules/sub/hooks/post-checkout",
            ".git/modules/sub/config",
            ".git/worktrees/x/commondir",
            ".git/info/attributes",
            ".git/objects/info/alternates",
            "vendor/deep/.git/hooks/x",
        ] {
            assert_eq!(meaning(path.as_bytes()), Some(GIT), "{path}");
        }
        for path in [
            ".git/HEAD",
            ".git/index",
            ".git/config.lock",
            ".git/refs/heads/config",
            ".git/refs/heads/hooks/x",
            ".git/logs/refs/heads/config",
            ".git/objects/ab/cd",
            ".git/objects/info/packs",
            ".git/objects/info/commit-graph.lock",
            ".git/hooks/pre-commit.sample",
            ".git/COMMIT_EDITMSG",
            ".git/info/exclude",
            // Only says where a linked working directory is.
            ".git/worktrees/x/gitdir",
        ] {
            assert_eq!(meaning(path.as_bytes()), None, "{path}");
        }
    }

    #[test]
    fn the_table_holds_at_any_depth() {
        assert_eq!(meaning(b".vscode/tasks.json"), Some(Runs("editor settings")));
        assert_eq!(meaning(b"a/.VSCode/x/y"), Some(Runs("editor settings")));
        assert_eq!(meaning(b"x/AGENTS.md"), Some(Instructions));
        assert_eq!(meaning(b".envrc"), Some(Runs("directory environment")));
        for path in ["src/main.rs", ".github/pull.md", "git/hooks/x", ".config/x"] {
            assert_eq!(meaning(path.as_bytes()), None, "{path}");
        }
    }

    #[test]
    fn directories_that_may_hold_them() {
        for path in [
            ".git",
            "a/.vscode",
            ".github",
            "x/.config",
            ".cargo",
            ".yarn",
            ".git/modules",
            ".git/modules/sub",
            ".git/info",
            "a/.git/objects/info",
        ] {
            assert!(may_hold(path.as_bytes()), "{path}");
        }
        for path in ["src", "a/config", ".cache", ".git/refs/heads", ".git/logs/x"] {
            assert!(!may_hold(path.as_bytes()), "{path}");
        }
    }
}
