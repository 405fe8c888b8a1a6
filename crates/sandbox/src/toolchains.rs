//! Toolchains and package caches that live in a person's home: a table, and what of it exists.

use std::path::{Path, PathBuf};

/// How a toolchain's directory is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Show {
    /// As it is; it can't be changed.
    Read,
    /// Writable inside; what is written stays in the run.
    Scratch,
}

/// One row: where a tool keeps its files, and which of them are nobody's business.
struct Row {
    /// The variable that moves the directory, or an empty string.
    variable: &'static str,
    /// Below the home directory.
    default: &'static str,
    show: Show,
    /// Files and directories in it that hold credentials.
    hide: &'static [&'static str],
    /// Files in it that are hidden when they hold a token.
    inspect: &'static [&'static str],
}

const fn read(variable: &'static str, default: &'static str) -> Row {
    Row { variable, default, show: Show::Read, hide: &[], inspect: &[] }
}

const fn scratch(variable: &'static str, default: &'static str) -> Row {
    Row { variable, default, show: Show::Scratch, hide: &[], inspect: &[] }
}

const TABLE: &[Row] = &[
    // Rust
    read("RUSTUP_HOME", ".rustup"),
    Row {
        variable: "CARGO_HOME",
        default: ".cargo",
        show: Show::Scratch,
        hide: &["credentials", "credentials.toml"],
        inspect: &["config", "config.toml"],
    },
    scratch("SCCACHE_DIR", ".cache/sccache"),
    // C and C++
    scratch("CCACHE_DIR", ".cache/ccache"),
    // Node
    read("NVM_DIR", ".nvm"),
    read("FNM_DIR", ".local/share/fnm"),
    read("VOLTA_HOME", ".volta"),
    read("BUN_INSTALL", ".bun"),
    read("DENO_INSTALL", ".deno"),
    scratch("", ".npm"),
    read("NPM_CONFIG_PREFIX", ".npm-global"),
    scratch("", ".cache/yarn"),
    scratch("", ".yarn/berry"),
    scratch("", ".local/share/pnpm"),
    scratch("", ".cache/pnpm"),
    scratch("", ".cache/node-gyp"),
    scratch("", ".cache/node"),
    read("PLAYWRIGHT_BROWSERS_PATH", ".cache/ms-playwright"),
    read("PUPPETEER_CACHE_DIR", ".cache/puppeteer"),
    scratch("DENO_DIR", ".cache/deno"),
    // Python
    scratch("PYENV_ROOT", ".pyenv"),
    read("", ".local/lib"),
    read("", ".local/share/uv"),
    read("", ".local/share/pipx"),
    scratch("PIP_CACHE_DIR", ".cache/pip"),
    scratch("UV_CACHE_DIR", ".cache/uv"),
    scratch("POETRY_CACHE_DIR", ".cache/pypoetry"),
    read("", "miniconda3"),
    read("", ".conda/pkgs"),
    // Go
    scratch("GOPATH", "go"),
    scratch("GOMODCACHE", "go/pkg/mod"),
    scratch("GOCACHE", ".cache/go-build"),
    // Java
    read("SDKMAN_DIR", ".sdkman"),
    scratch("", ".m2/repository"),
    Row {
        variable: "GRADLE_USER_HOME",
        default: ".gradle",
        show: Show::Scratch,
        hide: &["gradle.properties", "init.gradle", "init.d"],
        inspect: &[],
    },
    // Ruby, Haskell, .NET, and version managers of many
    read("", ".rbenv"),
    Row {
        variable: "GEM_HOME",
        default: ".gem",
        show: Show::Scratch,
        hide: &["credentials"],
        inspect: &[],
    },
    read("", ".ghcup"),
    read("DOTNET_ROOT", ".dotnet"),
    scratch("NUGET_PACKAGES", ".nuget/packages"),
    read("ASDF_DATA_DIR", ".asdf"),
    read("MISE_DATA_DIR", ".local/share/mise"),
    // coding agents
    read("", ".local/share/claude"),
    read("", ".claude/local"),
    read("", ".opencode/bin"),
    // programs of the person's own
    read("", ".local/bin"),
    read("", "bin"),
];

/// A toolchain's directory that exists on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Where, outside and inside.
    pub path: PathBuf,
    /// Whether it is writable inside, with writes that stay in the run.
    pub scratch: bool,
    /// Paths in it that are covered.
    pub hidden: Vec<PathBuf>,
}

/// The variables that a toolchain's place depends on; they are passed to commands.
pub(crate) fn variables() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|row| row.variable).filter(|variable| !variable.is_empty())
}

/// Looks for every row of the table. `variable` answers for the control plane's environment.
pub(crate) fn find(home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    for row in TABLE {
        let place = variable(row.variable).filter(|path| path.is_absolute());
        let place = place.unwrap_or_else(|| home.join(row.default));
        let covered = shown.iter().any(|earlier| place.starts_with(&earlier.path));
        if !covered && place != home && place.is_dir() {
            shown.push(row.at(place));
        }
    }
    shown
}

impl Row {
    fn at(&self, path: PathBuf) -> Shown {
        let always = self.hide.iter().map(|name| path.join(name)).filter(|file| file.exists());
        let inspected =
            self.inspect.iter().map(|name| path.join(name)).filter(|file| holds_token(file));
        let hidden = always.chain(inspected).collect();
        Shown { path, scratch: self.show == Show::Scratch, hidden }
    }
}

/// Whether a configuration file of the person holds a token. A file that can't be read is taken
/// to hold one.
fn holds_token(file: &Path) -> bool {
    match std::fs::read_to_string(file) {
        Ok(text) => text.lines().any(|line| {
            let key = line.split('=').next().unwrap_or_default().trim();
            ["token", "secret-key", "password"].iter().any(|word| key.ends_with(word))
        }),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn caches_are_scratch_and_credentials_are_hidden() {
        let home = tempfile::tempdir().unwrap();
        let cargo = home.path().join(".cargo");
        fs::create_dir_all(cargo.join("registry")).unwrap();
        fs::write(cargo.join("credentials.toml"), "[registry]\ntoken = \"x\"").unwrap();
        fs::write(cargo.join("config.toml"), "[build]\njobs = 2\n").unwrap();
        fs::create_dir_all(home.path().join(".rustup")).unwrap();
        let shown = find(home.path(), |_| None);
        assert_eq!(
            shown,
            [
                Shown { path: home.path().join(".rustup"), scratch: false, hidden: vec![] },
                Shown {
                    path: cargo.clone(),
                    scratch: true,
                    hidden: vec![cargo.join("credentials.toml")]
                },
            ]
        );
        fs::write(cargo.join("config.toml"), "[registries.mine]\ntoken = \"x\"\n").unwrap();
        let again = find(home.path(), |_| None);
        assert!(again[1].hidden.contains(&cargo.join("config.toml")));
    }

    #[test]
    fn a_variable_moves_a_toolchain() {
        let home = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let shown =
            find(home.path(), |name| (name == "CARGO_HOME").then(|| elsewhere.path().to_owned()));
        assert_eq!(shown.len(), 1);
        assert_eq!(shown[0].path, elsewhere.path());
    }

    #[test]
    fn agents_are_shown_where_their_installers_put_them_and_their_logins_are_not() {
        let home = tempfile::tempdir().unwrap();
        let places =
            [".npm-global", ".local/share/claude", ".claude/local", ".opencode/bin", ".local/bin"];
        for place in places.iter().chain(&[".codex", ".claude/projects", ".local/share/opencode"]) {
            fs::create_dir_all(home.path().join(place)).unwrap();
        }
        let shown = find(home.path(), |_| None);
        let paths: Vec<_> =
            shown.iter().map(|it| it.path.strip_prefix(home.path()).unwrap()).collect();
        assert_eq!(paths, places.map(Path::new));
    }

    #[test]
    fn the_home_itself_is_never_a_toolchain() {
        let home = tempfile::tempdir().unwrap();
        assert!(find(home.path(), |_| Some(home.path().to_owned())).is_empty());
    }
}
