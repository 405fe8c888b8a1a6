//! Agents of somebody else's, as data: a row each, with what it needs to work inside.
//!
//! The profile of the same name (`policy`) says what an agent may do; a row says where its models
//! are, which variables hold a key for them, and which files it finds in its home. [`Kit`] is what
//! one run of it gets. A key never enters: the agent finds a placeholder, and the network gate puts
//! the key into requests to its provider. Nothing of the person's own home is taken along.

mod home;
mod means;

use std::path::{Path, PathBuf};

use api::{Agent, Problem};
use policy::{Carrier, Flags, Mode, TermsError};

use crate::lease::{Lending, Offer};
use crate::settings::Settings;

use home::{HomeFile, Under};
use means::Means;

/// One agent.
#[derive(Debug)]
struct Preset {
    /// What it is called, and its profile.
    name: &'static str,
    /// Whose models it can use. It needs a key of one of them.
    providers: &'static [Provider],
    /// What it finds in its home.
    files: &'static [HomeFile],
    /// Where it keeps the login of a person.
    login: Option<Login>,
}

/// A provider of models, as one agent speaks to it.
#[derive(Debug)]
struct Provider {
    /// The lease of its key.
    lease: &'static str,
    /// Where it is.
    base: &'static str,
    /// The variable that says that it is somewhere else.
    base_variable: &'static str,
    /// What of it the agent needs, below the base.
    paths: &'static [&'static str],
    /// The variables that the agent reads a key from, the first one first.
    keys: &'static [Key],
}

/// A variable that holds a key, and the header that the agent puts it in.
#[derive(Debug)]
struct Key {
    variable: &'static str,
    header: &'static str,
}

impl Key {
    fn carrier(&self) -> Result<Carrier, TermsError> {
        Carrier::new(self.header, None)
    }
}

/// A login: a credential that is renewed, and so is of no use to whoever gets a copy.
#[derive(Debug)]
struct Login {
    /// The file, below the home.
    file: &'static str,
    /// What to do instead.
    instead: &'static str,
}

/// What an agent may ask of its provider.
const METHODS: [&str; 2] = ["GET", "POST"];

const CLAUDE: Preset = Preset {
    name: "claude",
    providers: &[Provider {
        lease: "anthropic",
        base: "https://api.anthropic.com",
        base_variable: "ANTHROPIC_BASE_URL",
        // The last two are what an organisation settles for its people's clients.
        paths: &[
            "/v1/messages",
            "/v1/models",
            "/api/claude_code/settings",
            "/api/claude_code/policy_limits",
        ],
        keys: &[
            Key { variable: "ANTHROPIC_AUTH_TOKEN", header: "authorization" },
            Key { variable: "ANTHROPIC_API_KEY", header: "x-api-key" },
            Key { variable: "CLAUDE_CODE_OAUTH_TOKEN", header: "authorization" },
        ],
    }],
    files: &[
        HomeFile {
            at: ".claude.json",
            under: Under::Wall,
            text: include_str!("preset/claude.json"),
        },
        HomeFile {
            at: ".claude.json",
            under: Under::Direct,
            text: include_str!("preset/claude-direct.json"),
        },
        HomeFile {
            at: ".claude/settings.json",
            under: Under::Wall,
            text: include_str!("preset/claude-settings.json"),
        },
    ],
    login: Some(Login {
        file: ".claude/.credentials.json",
        instead: "`claude setup-token` makes a token for CLAUDE_CODE_OAUTH_TOKEN",
    }),
};

const CODEX: Preset = Preset {
    name: "codex",
    providers: &[Provider {
        lease: "openai",
        base: "https://api.openai.com/v1",
        base_variable: "OPENAI_BASE_URL",
        paths: &["/responses", "/models"],
        keys: &[
            Key { variable: "CODEX_API_KEY", header: "authorization" },
            Key { variable: "OPENAI_API_KEY", header: "authorization" },
        ],
    }],
    files: &[
        HomeFile {
            at: ".codex/config.toml",
            under: Under::Wall,
            text: include_str!("preset/codex.toml"),
        },
        HomeFile {
            at: ".codex/config.toml",
            under: Under::Direct,
            text: include_str!("preset/codex-direct.toml"),
        },
    ],
    login: Some(Login {
        file: ".codex/auth.json",
        instead: "if it is a key, --from \"command:jq -r .OPENAI_API_KEY FILE\" reads it",
    }),
};

const OPENCODE: Preset = Preset {
    name: "opencode",
    providers: &[
        Provider {
            lease: "anthropic",
            base: "https://api.anthropic.com/v1",
            base_variable: "ANTHROPIC_BASE_URL",
            paths: &["/messages", "/models"],
            keys: &[Key { variable: "ANTHROPIC_API_KEY", header: "x-api-key" }],
        },
        Provider {
            lease: "openai",
            base: "https://api.openai.com/v1",
            base_variable: "OPENAI_BASE_URL",
            paths: &["/responses", "/chat/completions", "/models"],
            keys: &[Key { variable: "OPENAI_API_KEY", header: "authorization" }],
        },
    ],
    files: &[HomeFile {
        at: ".config/opencode/opencode.json",
        under: Under::Wall,
        text: include_str!("preset/opencode.json"),
    }],
    login: Some(Login {
        file: ".local/share/opencode/auth.json",
        instead: "make a key at the provider",
    }),
};

/// The row of an agent.
const fn preset(agent: Agent) -> &'static Preset {
    match agent {
        Agent::Claude => &CLAUDE,
        Agent::Codex => &CODEX,
        Agent::Opencode => &OPENCODE,
    }
}

/// Where agents keep the logins of a person with this home, as far as there are any.
pub(crate) fn logins(home: &Path) -> Vec<PathBuf> {
    let logins = [&CLAUDE, &CODEX, &OPENCODE].into_iter().filter_map(|it| it.login.as_ref());
    let files = logins.filter_map(|login| home.join(login.file).canonicalize().ok());
    files.filter(|file| file.is_file()).collect()
}

/// What an agent is called; its profile has the same name.
pub(crate) const fn name(agent: Agent) -> &'static str {
    preset(agent).name
}

/// What one run of an agent gets.
#[derive(Debug)]
pub(crate) struct Kit {
    preset: &'static Preset,
    means: Means,
}

impl Kit {
    /// Finds the credential of the agent: the lease that the person keeps for its provider, or else
    /// a variable of this process, which is lent to this run alone.
    ///
    /// # Errors
    /// That there is none, and what would help; that it is for another place than the one where the
    /// person says the provider is.
    pub(crate) fn of(settings: &Settings, agent: Agent) -> Result<Self, Problem> {
        let preset = preset(agent);
        Ok(Self { preset, means: Means::find(settings, preset)? })
    }

    /// Adds what the command line would say in its place.
    pub(crate) fn flags(&self, mut flags: Flags) -> Flags {
        flags.agent = Some(self.preset.name.to_owned());
        flags.agent_leases.extend(self.means.leases());
        // What the person says of a variable counts.
        flags.environment.splice(0..0, self.means.environment());
        flags
    }

    /// What this run can be lent.
    pub(crate) fn offer(&self, settings: &Settings) -> Offer {
        Offer::kept(settings).with(self.means.made())
    }

    /// The files of its home, by their paths below it.
    pub(crate) fn home_files(
        &self,
        mode: Mode,
        project: &Path,
        lending: &Lending,
    ) -> Vec<(PathBuf, String)> {
        home::files(self.preset.files, mode, &self.means.words(project, lending))
    }
}

#[cfg(test)]
mod tests;
