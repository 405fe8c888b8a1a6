//! Names that mean more than their bytes: what the host executes, trusts or obeys later.

use names::WorkspacePath;
use policy::guarded::{Meaning, Row, TABLE, fold, glob, is_git, is_git_name};

use crate::change::Flag;

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
