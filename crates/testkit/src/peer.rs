//! The real clients of models, as installed by `cargo xtask peers`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A client of somebody else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// opencode.
    OpenCode,
}

/// The key that they are given: none.
const KEY: &str = "no-key-at-all";

impl Peer {
    /// What its program is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
        }
    }

    /// Where its program is. Fails the test if it is not installed.
    #[must_use]
    #[track_caller]
    pub fn program(self) -> PathBuf {
        let found = packages().map(|packages| packages.join(".bin").join(self.name()));
        found.filter(|program| program.exists()).unwrap_or_else(|| {
            panic!("this test needs {}: `cargo xtask peers` installs it", self.name())
        })
    }

    /// The directories that npm made for it; none if it is not installed.
    #[must_use]
    pub fn installed(self) -> Vec<PathBuf> {
        let scope = match self {
            Self::Claude => "@anthropic-ai",
            Self::Codex => "@openai",
            Self::OpenCode => "opencode",
        };
        let entries = packages().and_then(|packages| std::fs::read_dir(packages).ok());
        let entries = entries.into_iter().flatten().flatten();
        let own = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(scope));
        own.map(|entry| entry.path()).collect()
    }

    /// Gives it one task in `place`, which is also its home, with the model server at `url`.
    #[track_caller]
    pub fn run(self, place: &Path, url: &str, task: &str) -> Output {
        self.command(place, url, task).output().expect("a program that is there starts")
    }

    /// The same as a command, for whoever starts it elsewhere.
    #[must_use]
    #[track_caller]
    pub fn command(self, place: &Path, url: &str, task: &str) -> Command {
        let mut command = Command::new(self.program());
        command.env_clear().current_dir(place).stdin(Stdio::null());
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("HOME", place).env("TERM", "dumb").env("SHELL", "/bin/sh");
        match self {
            Self::Claude => claude(&mut command, url),
            Self::Codex => codex(&mut command, url),
            Self::OpenCode => opencode(&mut command, url),
        }
        command.arg(task);
        command
    }
}

/// Where npm put everything, if it did: beside what cargo builds.
fn packages() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let mut places = this.ancestors().map(|above| above.join("peers/node_modules"));
    places.find(|place| place.is_dir())
}

fn claude(command: &mut Command, url: &str) {
    command
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .args(["--print", "--allowedTools=Bash", "--"]);
}

fn codex(command: &mut Command, url: &str) {
    let provider = format!(
        "model_providers.local={{ name = 'local', base_url = '{url}/v1', \
         env_key = 'OPENAI_API_KEY', wire_api = 'responses' }}"
    );
    command
        .env("OPENAI_API_KEY", KEY)
        .args(["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access"])
        .args(["--model", "gpt-5.5", "-c", "model_provider=local", "-c", &provider])
        .args(["-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false", "--"]);
}

fn opencode(command: &mut Command, url: &str) {
    let configuration = format!(
        r#"{{
            "provider": {{ "local": {{
                "npm": "@ai-sdk/openai-compatible", "name": "Local",
                "options": {{ "baseURL": "{url}/v1", "apiKey": "{KEY}" }},
                "models": {{ "scripted": {{ "name": "Scripted" }} }}
            }} }},
            "model": "local/scripted", "small_model": "local/scripted", "autoupdate": false
        }}"#
    );
    command
        .env("OPENCODE_CONFIG_CONTENT", configuration)
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .args(["run", "--model", "local/scripted", "--"]);
}
