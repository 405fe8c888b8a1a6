//! Names that mean more than their bytes: what the host executes, trusts or obeys later.

use names::{WorkspacePath, is_invisible};

use crate::change::Flag;

/// A row of the table: a path pattern, and what it is. `*` is any text within one component.
///
/// A pattern matches at any depth, the path itself and everything below it, whatever the case of
/// its letters.
struct Row(&'static str, Meaning);

#[derive(Clone, Copy)]
enum Meaning {
    Protected(&'static str),
    Instructions,
}

use Meaning::{Instructions, Protected as Runs};

/// The table. Sources: documentation of the tools named, and advisories about sandboxes that
/// missed one of these names.
const TABLE: &[Row] = &[
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

/// Which names need their own approval.
#[derive(Clone, Debug)]
pub struct Protected {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    /// The first component as written.
    head: String,
    /// All of them, folded.
    components: Vec<String>,
    flag: Flag,
}

impl Default for Protected {
    /// The names that every run protects.
    fn default() -> Self {
        let rules = TABLE.iter().map(|Row(pattern, meaning)| {
            let flag = match meaning {
                Meaning::Protected(what) => Flag::Protected((*what).to_owned()),
                Meaning::Instructions => Flag::InstructionFile,
            };
            Rule::new(pattern, flag)
        });
        Self { rules: rules.collect() }
    }
}

impl Protected {
    /// Protects one more pattern: components joined by `/`, each with `*` for any text within it.
    #[must_use]
    pub fn with(mut self, pattern: &str, what: &str) -> Self {
        self.rules.push(Rule::new(pattern, Flag::Protected(what.to_owned())));
        self
    }

    /// The flags that follow from the name alone.
    #[must_use]
    pub fn flags(&self, path: &WorkspacePath) -> Vec<Flag> {
        Namer::new(self).flags(path.as_bytes())
    }

    /// The names of the first components of all patterns that have no `*`: where a link of the
    /// base could give a protected file another name.
    pub(crate) fn heads(&self) -> impl Iterator<Item = &str> {
        let heads = self.rules.iter().map(|rule| rule.head.as_str());
        heads.filter(|head| !head.contains('*'))
    }
}

impl Rule {
    fn new(pattern: &str, flag: Flag) -> Self {
        let components = pattern.split('/').map(|component| fold(component.as_bytes()));
        let head = pattern.split('/').next().unwrap_or_default().to_owned();
        Self { head, components: components.collect(), flag }
    }

    /// Do the last components of `path` match?
    fn ends(&self, path: &[Level]) -> bool {
        let start = path.len().checked_sub(self.components.len());
        let tail = start.and_then(|start| path.get(start..));
        tail.is_some_and(|tail| {
            tail.iter().zip(&self.components).all(|(level, pattern)| glob(pattern, &level.name))
        })
    }
}

/// Finds the flags of many paths. Of a path only those components are looked at that it does not
/// share with the one before, so that sorted paths cost by their length, however deep.
pub(crate) struct Namer<'a> {
    protected: &'a Protected,
    path: Vec<u8>,
    levels: Vec<Level>,
}

struct Level {
    /// Where the component ends in `path`.
    end: usize,
    /// The component, folded.
    name: String,
    /// The flags of the path up to here.
    flags: Vec<Flag>,
}

impl<'a> Namer<'a> {
    pub(crate) fn new(protected: &'a Protected) -> Self {
        Self { protected, path: Vec::new(), levels: Vec::new() }
    }

    pub(crate) fn flags(&mut self, path: &[u8]) -> Vec<Flag> {
        self.rewind(path);
        while let Some(rest) = path.get(self.path.len()..).filter(|rest| !rest.is_empty()) {
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            self.push(rest.split(|byte| *byte == b'/').next().unwrap_or(rest));
        }
        self.levels.last().map(|level| level.flags.clone()).unwrap_or_default()
    }

    /// Goes back to the deepest directory that `path` shares.
    fn rewind(&mut self, path: &[u8]) {
        let same = self.path.iter().zip(path).take_while(|(a, b)| a == b).count();
        let shared = |end: usize| end <= same && matches!(path.get(end), None | Some(b'/'));
        while self.levels.last().is_some_and(|level| !shared(level.end)) {
            self.levels.pop();
        }
        self.path.truncate(self.levels.last().map_or(0, |level| level.end));
    }

    fn push(&mut self, component: &[u8]) {
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(component);
        let mut flags = self.levels.last().map(|level| level.flags.clone()).unwrap_or_default();
        let name = fold(component);
        if is_git(&name) {
            flags.push(Flag::GitMetadata);
        }
        self.levels.push(Level { end: self.path.len(), name, flags: Vec::new() });
        let rules = self.protected.rules.iter().filter(|rule| rule.ends(&self.levels));
        flags.extend(rules.map(|rule| rule.flag.clone()));
        flags.sort_unstable();
        flags.dedup();
        if let Some(level) = self.levels.last_mut() {
            level.flags = flags;
        }
    }
}

/// Is it within a `.git` directory, or a `.git` pointer file or link?
pub(crate) fn is_git_metadata(path: &WorkspacePath) -> bool {
    path.components().any(is_git_name)
}

fn is_git_name(name: &[u8]) -> bool {
    // Folding takes only dots, spaces and non-ASCII characters away.
    let plain = name.is_ascii() && !name.ends_with(b".") && !name.ends_with(b" ");
    if plain {
        [b".git".as_slice(), b"git~1"].iter().any(|git| name.eq_ignore_ascii_case(git))
    } else {
        is_git(&fold(name))
    }
}

/// `git~1` is the short name of `.git` on file systems that have them, and Git refuses it too.
fn is_git(folded: &str) -> bool {
    matches!(folded, ".git" | "git~1")
}

/// The name without differences that some file system or editor ignores: case, characters that
/// show nothing, and dots and spaces at the end.
fn fold(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let visible =
        text.chars().filter(|c| !is_invisible(*c) && !matches!(c, '\u{fe0e}' | '\u{fe0f}'));
    let folded: String =
        visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    let end = folded.trim_end_matches([' ', '.']);
    if end.is_empty() { folded } else { end.to_owned() }
}

/// Does `name` match `pattern`, where `*` is any text?
fn glob(pattern: &str, name: &str) -> bool {
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

    fn flags(path: &str) -> Vec<Flag> {
        Protected::default().flags(&WorkspacePath::from_bytes(path.as_bytes()).unwrap())
    }

    fn protected(what: &str) -> Vec<Flag> {
        vec![Flag::Protected(what.to_owned())]
    }

    #[test]
    fn plain_files_have_no_flag() {
        for path in [
            "src/main.rs",
            "README.md",
            "git/hooks/x",
            "docs/vscode.md",
            "loop/x",
            ".gitignore",
            "agents/x.md",
        ] {
            assert_eq!(flags(path), [], "{path}");
        }
    }

    #[test]
    fn git_metadata_at_any_depth() {
        for path in [
            ".git",
            ".git/config",
            "a/b/c/d/e/.git/hooks/pre-commit",
            ".GIT/config",
            ".g\u{200c}it/config",
            "sub/.git",
            "GIT~1/config",
            ".git./config",
        ] {
            assert!(flags(path).contains(&Flag::GitMetadata), "{path}");
        }
    }

    #[test]
    fn case_and_depth_do_not_matter() {
        assert_eq!(flags(".vscode/tasks.json"), protected("editor settings"));
        assert_eq!(flags("deep/er/.VSCode/Tasks.JSON"), protected("editor settings"));
        assert_eq!(flags(".vſcode/x"), protected("editor settings"));
        assert_eq!(flags(".loop/config.toml"), protected("loop configuration"));
        assert_eq!(flags(".loop"), protected("loop configuration"));
        assert_eq!(flags("a/.envrc"), protected("directory environment"));
        assert_eq!(flags(".mcp.json"), protected("agent tools"));
        assert_eq!(flags("x/claude.MD"), [Flag::InstructionFile]);
        assert_eq!(
            flags(".claude/settings.local.json"),
            [Flag::Protected("agent settings".to_owned()), Flag::InstructionFile]
        );
        assert_eq!(flags(".claude/skills/x/SKILL.md"), [Flag::InstructionFile]);
    }

    #[test]
    fn one_namer_for_many_paths() {
        let protected = Protected::default();
        let mut namer = Namer::new(&protected);
        let paths = [
            ".git",
            ".git/x",
            ".github",
            ".github/workflows",
            ".github/workflows/a/b",
            ".github/x",
            ".vscode",
            "a",
            "a-b",
            "a/.loop/x",
            "a/.loopy",
            "AGENTS.md/x",
        ];
        for path in paths.into_iter().chain(paths.into_iter().rev()) {
            assert_eq!(namer.flags(path.as_bytes()), flags(path), "{path}");
        }
        assert_eq!(namer.flags(b".git/x"), [Flag::GitMetadata]);
    }

    #[test]
    fn stars_stay_within_a_component() {
        assert!(glob("a*c", "abc") && glob("a*c", "ac") && glob("*", "") && glob("a*b*c", "a1b2c"));
        assert!(!glob("a*c", "ab") && !glob("abc", "abcd") && !glob("a*a", "a"));
        let more = Protected::default().with("secrets/*.key", "key");
        let path = |text: &str| WorkspacePath::from_bytes(text.as_bytes()).unwrap();
        assert_eq!(more.flags(&path("x/secrets/a.key")), protected("key"));
        assert_eq!(more.flags(&path("secrets/x/a.key")), []);
    }
}
