//! The command line as a table. `--help`, the man pages and the shell completions all come from it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Run commands and coding agents that nobody has to trust.
///
/// A command runs in a sandbox that starts with nothing. What it changes in the project is shown as a
/// change set, and reaches the project only when you apply it. A signed receipt says what happened.
#[derive(Debug, Parser)]
#[command(
    name = "loop",
    version,
    disable_help_subcommand = true,
    after_help = "Examples:
  loop demo                       see it work, in ten seconds
  loop run 'make the tests pass'  have an agent do it in a sandbox
  loop exec -- cargo test         run a command in a sandbox
  loop diff                       what it changed
  loop apply                      carry the changes into the project

Exit codes: the command's own; 124 out of time; 125 Loop could not do it safely;
126 denied; 127 not found; 130 interrupted; 1 the answer is no; 2 the command
line is wrong; 3 unverified."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Have Loop's own agent work on a task, in a sandbox
    Run(Box<Run>),
    /// List sessions of the agent
    Sessions(Sessions),
    /// List models, and what is missing for others
    Models(Models),
    /// Keep a model provider's key
    Login(Login),
    /// Forget a model provider's key
    Logout(Logout),
    /// Run a command in a sandbox
    Exec(Exec),
    /// Run a run's checks again, later or elsewhere
    Verify(VerifyRun),
    /// End a warm sandbox and seal its run
    Stop(Stop),
    /// List what waits for your answer
    Approvals(Approvals),
    /// Let something happen that waits for your answer
    Approve(Approve),
    /// Refuse something that waits for your answer
    Deny(Deny),
    /// List runs
    Runs(Runs),
    /// Show one run
    Show(OneRun),
    /// Read a run's ledger as a trace
    Audit(OneRun),
    /// Show what a run changed
    Diff(Diff),
    /// Carry a run's changes into the project
    Apply(Apply),
    /// Drop a run's changes
    Discard(OneRun),
    /// Take an apply back
    Undo(OneRun),
    /// Put a run's commits on a branch
    Branch(Branch),
    /// Look at a repository with git that obeys nothing in it
    Git(Git),
    /// Show, verify and export receipts, and witness ledgers
    #[command(subcommand)]
    Receipt(Receipt),
    /// Check, show, explain and test profiles
    #[command(subcommand)]
    Policy(Policy),
    /// Draft and check contracts: when a task is done, and what shows it
    #[command(subcommand)]
    Contract(Contract),
    /// Show the signing key, or make another
    #[command(subcommand)]
    Key(Key),
    /// Lend credentials to runs, without their values
    #[command(subcommand)]
    Lease(Lease),
    /// Make the project's .loop/config.toml
    Init(Init),
    /// Trust the project's .loop/config.toml or .loop/contract.toml
    Trust(Trust),
    /// Say what this machine can enforce, and what to do where it can't
    Doctor(Doctor),
    /// Try the attack and work cases, against Loop or another launcher
    Attack(Attack),
    /// See an agent mend a test, then turn on you and be held
    Demo(Demo),
    /// Write a shell's completions
    Completions(Completions),
    /// Write documentation
    #[command(subcommand, hide = true)]
    Docs(Docs),
}

/// Where the project is.
#[derive(Debug, Clone, Default, Args)]
pub struct Project {
    /// The project directory, instead of the current one
    #[arg(short = 'C', long = "dir", value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// What makes a run verified.
#[derive(Debug, Clone, Default, Args)]
pub struct Contracted {
    /// A command that has to end with 0 on the project plus the changes, besides the checks of the
    /// contract; can be repeated
    #[arg(long = "check", value_name = "CMD")]
    pub checks: Vec<String>,
    /// The contract, instead of a trusted .loop/contract.toml: criteria, checks, and what of the
    /// project they take as it was
    #[arg(long, value_name = "FILE")]
    pub contract: Option<PathBuf>,
}

/// `loop exec`
#[derive(Debug, Args)]
#[command(
    override_usage = "loop exec [OPTIONS] -- CMD [ARG]...",
    after_help = "Standard input and output, the terminal and the exit code are the command's. A
short summary goes to standard error. Where Loop itself ends it, the exit code
is 124 (out of time), 125 (it could not be done safely), 126 (denied), 127 (not
found) or 130 (interrupted).

What a rule asks about, you are asked at the terminal: y once, a for this run, n
deny, s deny and stop. Without a terminal it waits for loop approve.

With --agent, CMD is an agent as you installed it. It reaches its provider and
the package registries, and instead of your key it has a placeholder. What it
does stays in the run, so its own sandbox and questions are off; with --mode
direct it goes on asking. Its home is empty and goes with the run; --session
keeps it. With --profile, the agent is put on that profile.

With --check or --contract, each check runs afterwards, once on the project as
it was and once with the changes, each time in a fresh sandbox; tests and
settings of checks are the project's. --check adds to the contract in the
project's .loop/contract.toml, if there is one that you trust. The exit code is
then 0 (verified), 1 (failed) or 3 (unverified).

Examples:
  loop exec -- cargo test
  loop exec --agent claude -- claude -p \"make the tests pass\"
  loop exec --agent claude --check 'cargo test' -- claude -p \"mend it\"
  loop exec --agent codex --profile offline -- codex exec \"make the tests pass\"
  loop exec --profile read-only -- ./inspect.sh
  loop exec --timeout 10m --report out.json -- npm test
  loop exec --publish 3000 -- npm run dev   open http://localhost:3000
  loop exec --session dev -- make   keep the sandbox for the next command
  loop exec --learn -- make         what a profile lacks: loop policy propose"
)]
pub struct Exec {
    /// The profile: a name, or a file (with a / or ending in .toml)
    #[arg(short, long, value_name = "NAME or FILE")]
    pub profile: Option<String>,
    /// The agent that CMD is; its key is lent from its usual variable, or by the lease you keep
    #[arg(long, value_name = "NAME", value_enum)]
    pub agent: Option<Agent>,
    /// How the project is treated
    #[arg(short, long, value_enum)]
    pub mode: Option<Mode>,
    #[command(flatten)]
    pub project: Project,
    /// Set a variable for the command; can be repeated
    #[arg(short, long = "env", value_name = "K=V", value_parser = variable)]
    pub environment: Vec<(String, String)>,
    /// End it after this time, as 90s, 10m or 1h30m
    #[arg(short, long, value_name = "T")]
    pub timeout: Option<String>,
    /// Lend the credential of this name; can be repeated
    #[arg(long = "lease", value_name = "NAME")]
    pub leases: Vec<String>,
    /// Let programs of this machine connect to PORT of the sandbox, at 127.0.0.1 and at PORT or
    /// HOST_PORT; can be repeated
    #[arg(long, value_name = "[HOST_PORT:]PORT", value_parser = publication)]
    pub publish: Vec<api::Publication>,
    /// Write the summary to FILE, as JSON
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Use the warm sandbox of this name, or start it
    #[arg(long, value_name = "NAME", conflicts_with = "learn")]
    pub session: Option<String>,
    #[command(flatten)]
    pub contract: Contracted,
    /// Let through what the policy would ask about or deny, where it stays inside the sandbox, and
    /// record it for loop policy propose
    #[arg(long)]
    pub learn: bool,
    /// No summary
    #[arg(short, long)]
    pub quiet: bool,
    /// The command and its arguments
    #[arg(
        value_name = "CMD",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = false
    )]
    pub command: Vec<OsString>,
}

/// Agents that Loop knows how to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Agent {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// opencode
    Opencode,
}

impl From<Agent> for api::Agent {
    fn from(agent: Agent) -> Self {
        match agent {
            Agent::Claude => Self::Claude,
            Agent::Codex => Self::Codex,
            Agent::Opencode => Self::Opencode,
        }
    }
}

/// `loop run`
#[derive(Debug, Args)]
#[command(
    override_usage = "loop run [OPTIONS] [TASK]...",
    after_help = "What the agent does goes to standard error as it happens; its last message goes
to standard output. What is piped in is given to it with the task. Ctrl-C ends
the turn, twice ends the run; the session can go on later.

With --check or --contract, or a contract in .loop/contract.toml that you trust,
its checks run when the agent says it is done: each once on the project as it
was and once with the changes, in a fresh sandbox, with the project's own tests
and settings. Where they fail, the agent is told and goes on.

Exit codes: 0 the agent says it is done, and the checks, if any, verify it; 1 it
isn't, or a check failed; 3 unverified; 124 out of time; 125 Loop could not do
it safely, or no model can be used; 130 interrupted.

Examples:
  loop run 'make the tests pass'
  loop run 'make the tests pass' --check 'cargo test' --check 'cargo clippy'
  cargo test 2>&1 | loop run 'find out why this fails'
  loop run --model ollama:qwen3-coder --steps 50 'add a test for parse()'
  loop run 'now rename it' --resume
  loop run --fork k7m2@3 'try another way'
  loop run --json --output-schema verdict.json 'is it safe?' > events.jsonl"
)]
pub struct Run {
    /// The model: anthropic:NAME, openai:NAME, ollama:NAME, openai-compatible:URL#NAME or
    /// scripted:FILE. Without it, the first that there is a key for; see loop models
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// How much it should think: minimal, low, medium, high or max
    #[arg(long, value_name = "HOW")]
    pub effort: Option<String>,
    /// Go on with a session; the newest of this project if no ID is given
    #[arg(
        long,
        value_name = "ID",
        num_args = 0..=1,
        default_missing_value = "",
        require_equals = false,
        conflicts_with = "fork"
    )]
    pub resume: Option<String>,
    /// Begin from a session, at its end or after a turn of it; the session stays as it is
    #[arg(long, value_name = "ID[@TURN]")]
    pub fork: Option<String>,
    /// At most so many calls of the model
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// At most so many tokens
    #[arg(long, value_name = "N")]
    pub tokens: Option<u64>,
    /// At most so many dollars, as 2.50
    #[arg(long, value_name = "USD")]
    pub money: Option<String>,
    /// End it after this time, as 90s, 10m or 1h30m
    #[arg(short, long, value_name = "T")]
    pub timeout: Option<String>,
    /// The JSON schema that the last message has to fit
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,
    /// The profile: a name, or a file; agent if left out
    #[arg(short, long, value_name = "NAME or FILE")]
    pub profile: Option<String>,
    /// How the project is treated
    #[arg(short, long, value_enum)]
    pub mode: Option<Mode>,
    #[command(flatten)]
    pub project: Project,
    /// Set a variable for what it runs; can be repeated
    #[arg(short, long = "env", value_name = "K=V", value_parser = variable)]
    pub environment: Vec<(String, String)>,
    /// Lend the credential of this name; can be repeated
    #[arg(long = "lease", value_name = "NAME")]
    pub leases: Vec<String>,
    #[command(flatten)]
    pub contract: Contracted,
    /// Print events as JSON, one a line, and the report last
    #[arg(long)]
    pub json: bool,
    /// Show only the last message
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
    /// What to do
    #[arg(value_name = "TASK")]
    pub task: Vec<String>,
}

/// `loop sessions`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  loop sessions          of this project, newest first
  loop run --resume k7m2 go on with one")]
pub struct Sessions {
    #[command(flatten)]
    pub project: Project,
    /// The sessions of every project
    #[arg(short, long)]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop models`
#[derive(Debug, Args)]
pub struct Models {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop login`
#[derive(Debug, Args)]
#[command(
    after_help = "The key is read from the terminal without being shown, or from standard input.
It is kept in a file that only you can read, or in the desktop's keyring, and no
run can see it. A variable of the environment goes before it.

Examples:
  loop login anthropic
  pass show openai | loop login openai --keyring"
)]
pub struct Login {
    /// The provider: anthropic, openai, openrouter, …
    pub provider: String,
    /// Keep it in the keyring (secret-tool) and not in a file
    #[arg(long)]
    pub keyring: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop logout`
#[derive(Debug, Args)]
pub struct Logout {
    /// The provider
    pub provider: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// How a run treats the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Writes stay in the run, and become a change set
    Overlay,
    /// Nothing can be written
    ReadOnly,
    /// Writes reach the project at once; guarded files ask
    Direct,
}

impl From<Mode> for api::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Overlay => Self::Overlay,
            Mode::ReadOnly => Self::ReadOnly,
            Mode::Direct => Self::Direct,
        }
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("write it as NAME=VALUE".into()),
    }
}

/// `PORT`, or `HOST_PORT:PORT`.
fn publication(text: &str) -> Result<api::Publication, names::NameError> {
    let (outside, port) = text.split_once(':').unwrap_or((text, text));
    Ok(api::Publication { outside: names::Port::parse(outside)?, port: names::Port::parse(port)? })
}

/// `loop verify`
#[derive(Debug, Args)]
#[command(
    after_help = "The checks of the run's contract are run again on its base plus its change set,
as a run of its own with a receipt of its own. The project must hold what the
change set says was there before; where it doesn't, the path is named. Such a
run has no changes of its own: loop diff, apply and the like pass it over.

Exit codes: 0 verified, as claimed; 1 it comes out differently; 3 as claimed,
and that is not verified.

Examples:
  loop verify                             the newest run
  loop verify k7m2 --dir ../fresh-clone   on another copy of the base
  loop receipt export k7m2 evidence && loop verify evidence --dir PROJECT"
)]
pub struct VerifyRun {
    /// The run (the project's newest if left out), or a directory that loop receipt export wrote
    #[arg(value_name = "RUN or DIRECTORY")]
    pub what: Option<PathBuf>,
    #[command(flatten)]
    pub project: Project,
    /// The profile that the checks run under, instead of the run's
    #[arg(short, long, value_name = "NAME or FILE")]
    pub profile: Option<String>,
    /// End it after this time, as 90s, 10m or 1h30m
    #[arg(short, long, value_name = "T")]
    pub timeout: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Only the exit code
    #[arg(short, long)]
    pub quiet: bool,
}

/// `loop receipt export`
#[derive(Debug, Args)]
#[command(
    override_usage = "loop receipt export [OPTIONS] [RUN] DIRECTORY",
    after_help = "DIRECTORY gets receipt.json, ledger.jsonl, heads.jsonl, changes.json,
contract.json, authority.json, and the contents of changed files by their
digest. The ledger names commands, and files hold what was changed: look before
you give them away.

Example:
  loop receipt export k7m2 evidence"
)]
pub struct Export {
    /// The run (the project's newest if left out), then the directory
    #[arg(value_name = "RUN or DIRECTORY", required = true, num_args = 1..=2)]
    pub arguments: Vec<PathBuf>,
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop stop`
#[derive(Debug, Args)]
#[command(after_help = "Example:
  loop exec --session dev -- make && loop stop dev")]
pub struct Stop {
    /// The session's name
    pub session: String,
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop approvals`
#[derive(Debug, Args)]
#[command(
    after_help = "Where the verdict of a rule is ask, the action waits for you: at the terminal of
its command, or here. What nobody answers is denied when its time is over
(approvals.timeout in ~/.loop/config.toml).

Examples:
  loop approvals              of every run that goes on, this project's first
  loop approvals k7m2 --json  of one run, whole: nothing is cut"
)]
pub struct Approvals {
    /// The run; every one that goes on if left out
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Names an ask.
#[derive(Debug, Args)]
pub struct OneAsk {
    /// The ask, as `loop approvals` shows it
    #[arg(value_name = "ID")]
    pub id: String,
    /// Its run, where several have an ask of that id
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop approve`
#[derive(Debug, Args)]
#[command(
    after_help = "The answer is for exactly what is shown: this action, this run, this authority,
this time. With --scope run it holds whenever the run wants exactly the same
again.

Examples:
  loop approve h3x9
  loop approve h3x9 --scope run"
)]
pub struct Approve {
    #[command(flatten)]
    pub ask: OneAsk,
    /// How far it goes
    #[arg(long, value_enum, default_value = "once")]
    pub scope: Scope,
}

/// How far an approval goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// This time
    Once,
    /// Until the run ends, for exactly the same
    Run,
}

/// `loop deny`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  loop deny h3x9 --reason 'not before the review'   the command sees the reason
  loop deny h3x9 --stop                             and end the run")]
pub struct Deny {
    #[command(flatten)]
    pub ask: OneAsk,
    /// What to tell whoever wanted it
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// End the run, too
    #[arg(long)]
    pub stop: bool,
}

/// `loop runs`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  loop runs               the newest of this project
  loop runs --all -n 100  of every project")]
pub struct Runs {
    #[command(flatten)]
    pub project: Project,
    /// The runs of every project
    #[arg(short, long)]
    pub all: bool,
    /// At most this many; 0 is all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A command about one run.
#[derive(Debug, Args)]
#[command(
    after_help = "RUN is an id, or the beginning of one: 261129-k7m2qd, 261129 or k7m2. Without
it, the newest run of this project is meant: by discard and undo, the newest
that loop verify did not make."
)]
pub struct OneRun {
    /// The run; the project's newest if left out
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop diff`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  loop diff                  the newest run of this project
  loop diff k7m2 --stat      the paths alone
  loop diff --git            with what it left in .git: commits, hooks
  loop diff > change.patch   a patch, for reading elsewhere")]
pub struct Diff {
    /// The run; if left out, the project's newest that loop verify did not make
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    #[command(flatten)]
    pub project: Project,
    /// Only the paths, with lines added and removed
    #[arg(long)]
    pub stat: bool,
    /// Git's own files, too; without it, they are only counted
    #[arg(long)]
    pub git: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop apply`
#[derive(Debug, Args)]
#[command(
    override_usage = "loop apply [OPTIONS] [RUN] [PATH]...",
    after_help = "Without PATH, everything is applied that carries no flag. A flagged path (agent
settings, hooks, links that leave the project, invisible characters) is held
until you name it with --flagged. Git metadata, devices, sockets and pipes are
never applied. A run is applied once; to apply more or less of it, take it back
with `loop undo` first.

The first argument is a run if a run begins with it, otherwise a path; write
./name for a path that looks like a run.

Examples:
  loop apply                          the newest run
  loop apply k7m2 src                 only what lies beneath src
  loop apply --flagged AGENTS.md      with a flagged file"
)]
pub struct Apply {
    /// The run (if left out, the project's newest that loop verify did not make), then the paths
    #[arg(value_name = "RUN or PATH")]
    pub arguments: Vec<OsString>,
    #[command(flatten)]
    pub project: Project,
    /// Apply this flagged path too; can be repeated
    #[arg(long, value_name = "PATH")]
    pub flagged: Vec<OsString>,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop branch`
#[derive(Debug, Args)]
#[command(
    override_usage = "loop branch [OPTIONS] [RUN] NAME",
    after_help = "Takes the commits that the run made, as objects: nothing of its Git
configuration, hooks or attributes comes along, every object is checked, and no
file of the project changes. `loop apply` remains for the files. Commits that
change flagged paths (agent settings, hooks, continuous integration) need each
named with --flagged. A branch that is checked out is never moved.

Examples:
  loop branch fix-123                    the newest run, what it has checked out
  loop branch k7m2 fix-123 --from topic  a branch of that run
  loop branch fix-123 --dry-run          only say which commits"
)]
pub struct Branch {
    /// The run (if left out, the project's newest that loop verify did not make), then the branch
    #[arg(value_name = "RUN or NAME", required = true, num_args = 1..=2)]
    pub arguments: Vec<String>,
    #[command(flatten)]
    pub project: Project,
    /// Take this branch, tag or commit of the run, instead of what it has checked out
    #[arg(long, value_name = "REF")]
    pub from: Option<String>,
    /// Take commits that change this flagged path; can be repeated
    #[arg(long, value_name = "PATH")]
    pub flagged: Vec<OsString>,
    /// Move the branch if it is there already
    #[arg(long)]
    pub force: bool,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop git`
#[derive(Debug, Args)]
#[command(
    override_usage = "loop git [GIT OPTION]... COMMAND [ARG]...",
    after_help = "Commands that look: log, show, diff, status, blame, branch, tag, grep, ls-files,
stash list and the like. Nothing that lies in the repository is obeyed: no
configuration, hook, driver, remote or replacement. Your own configuration
holds. Submodules are not looked into; go there with -C.

Examples:
  loop git log --oneline
  loop git -C vendor/part diff HEAD~1",
    disable_help_flag = true
)]
pub struct Git {
    /// Options of git's own (-C DIR, -c KEY=VALUE, --no-pager), a command and its arguments
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

/// `loop receipt`
#[derive(Debug, Subcommand)]
pub enum Receipt {
    /// Show a run's receipt
    Show(OneRun),
    /// Verify a receipt, with no network and no state of Loop's
    Verify(Verify),
    /// Keep a signed head of a run's ledger elsewhere, so that cutting or replacing it shows
    Witness(Witness),
    /// Write what others need to verify a run's receipt and to run its checks again
    Export(Export),
}

/// `loop receipt verify`
#[derive(Debug, Args)]
#[command(
    after_help = "Exits 0 only if everything holds that is required: a trusted key, an intact
chain, matching subjects, a policy in force, a complete receipt, a verified
outcome. --allow takes a requirement away.

Examples:
  loop receipt verify receipt.json --allow unverified
  loop receipt verify receipt.json --key team.pub --ledger ledger.jsonl
  loop receipt verify evidence/receipt.json --trust trust.toml --tree ."
)]
pub struct Verify {
    /// The receipt
    #[arg(value_name = "FILE")]
    pub receipt: PathBuf,
    /// A public key to trust; can be repeated. Without it, the keys of your own configuration
    #[arg(long = "key", value_name = "FILE")]
    pub keys: Vec<PathBuf>,
    /// Keys to trust, and what each may sign for. Without it, trust.toml of your own configuration
    #[arg(long, value_name = "FILE")]
    pub trust: Option<PathBuf>,
    /// The run's ledger; without it, ledger.jsonl beside the receipt
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// The run's change set; without it, changes.json beside the receipt
    #[arg(long, value_name = "FILE")]
    pub changes: Option<PathBuf>,
    /// Signed heads that the ledger must contain; without it, heads.jsonl beside the receipt
    #[arg(long, value_name = "FILE")]
    pub heads: Option<PathBuf>,
    /// Signed heads that were kept elsewhere (`loop receipt witness`): one must be of this run
    #[arg(long, value_name = "FILE")]
    pub witness: Option<PathBuf>,
    /// A tree in which every touched path must be as the run left it
    #[arg(long, value_name = "DIRECTORY")]
    pub tree: Option<PathBuf>,
    /// Commits, one a line (`git rev-list HEAD`): the run must have started from one of them
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// What need not hold
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub allow: Vec<Allow>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop receipt witness`
#[derive(Debug, Args)]
#[command(
    after_help = "The file lies where whoever can change the ledger can't write: with another
user, on another machine, in a repository. A head that is there already is not
added again.

Examples:
  loop receipt witness --to /srv/witness/heads.jsonl
  loop receipt witness k7m2 --to heads.jsonl --key second.key
  loop receipt verify receipt.json --witness heads.jsonl --key second.pub"
)]
pub struct Witness {
    /// The run; the project's newest if left out
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// The file, to which the head is appended
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// The secret key to sign with; without it, the key that your receipts are signed with
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What a receipt need not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Allow {
    /// A signature: nobody vouches for it. One that is there and wrong is never allowed
    Unsigned,
    /// A verified outcome
    Unverified,
    /// A ledger to compare it with
    NoLedger,
    /// A change set to compare it with
    NoChanges,
    /// A policy that was in force: it may be a learning run
    Learning,
}

impl From<Allow> for ledger::Allow {
    fn from(allow: Allow) -> Self {
        match allow {
            Allow::Unsigned => Self::Unsigned,
            Allow::Unverified => Self::Unverified,
            Allow::NoLedger => Self::NoLedger,
            Allow::NoChanges => Self::NoChanges,
            Allow::Learning => Self::Learning,
        }
    }
}

/// `loop policy`
#[derive(Debug, Subcommand)]
pub enum Policy {
    /// Say everything that is wrong with a profile
    Check(PolicyCheck),
    /// Show what a profile amounts to here
    Show(PolicyShow),
    /// Say what would be decided about an action, and by which rule
    Explain(PolicyExplain),
    /// Run a profile's self-tests
    Test(PolicyTest),
    /// Say what a profile lacked in a run, as rules to add to it; adds nothing
    Propose(PolicyPropose),
}

/// `loop policy check`
#[derive(Debug, Args)]
pub struct PolicyCheck {
    /// The profile
    pub file: PathBuf,
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop policy show`
#[derive(Debug, Args)]
pub struct PolicyShow {
    /// The profile: a name or a file; the default of exec if left out
    pub profile: Option<String>,
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop policy explain`
#[derive(Debug, Args)]
#[command(
    override_usage = "loop policy explain [OPTIONS] ACTION...",
    after_help = "Examples:
  loop policy explain exec git push origin main
  loop policy explain connect example.com:443
  loop policy explain --profile develop open write .git/config"
)]
pub struct PolicyExplain {
    /// The profile: a name or a file
    #[arg(short, long, value_name = "NAME or FILE")]
    pub profile: Option<String>,
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The action in words
    #[arg(required = true, trailing_var_arg = true)]
    pub action: Vec<String>,
}

/// `loop policy propose`
#[derive(Debug, Args)]
#[command(after_help = "Of a run with --learn, everything is proposed that it was let through; of
another one, what it was refused. What is printed can be pasted as it is: all
that is no rule is a comment. Read the risks before you do.

Examples:
  loop exec --learn -- npm test && loop policy propose
  loop policy propose k7m2 >> ~/.loop/profiles/mine.toml")]
pub struct PolicyPropose {
    /// The run; the project's newest if left out
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop policy test`
#[derive(Debug, Args)]
pub struct PolicyTest {
    /// The profile: a name or a file; the default of exec if left out
    #[arg(value_name = "FILE")]
    pub profile: Option<String>,
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop contract`
#[derive(Debug, Subcommand)]
pub enum Contract {
    /// Say everything that is wrong with a contract
    Check(ContractCheck),
    /// Draft a contract from the project's files, to be edited; uses nothing by itself
    Propose(ContractPropose),
}

/// `loop contract check`
#[derive(Debug, Args)]
#[command(after_help = "Exit code: 0 if it can be used, 2 if something is wrong with it.")]
pub struct ContractCheck {
    /// The contract; the project's .loop/contract.toml if left out
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop contract propose`
#[derive(Debug, Args)]
#[command(
    after_help = "Commands that test the project are found by its files. What has to be true when
the task is done is asked in comments: nobody else can know.

Examples:
  loop contract propose \"the parser accepts empty input\" --output contract.toml
  loop run --contract contract.toml \"make the parser accept empty input\""
)]
pub struct ContractPropose {
    /// What the task is
    #[arg(value_name = "TASK")]
    pub task: Vec<String>,
    /// Write a new file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop key`
#[derive(Debug, Subcommand)]
pub enum Key {
    /// Show the public key that your receipts are signed with
    Show(KeyShow),
    /// Make another key, as for whoever keeps witnesses
    Create(KeyCreate),
}

/// `loop key create`
#[derive(Debug, Args)]
#[command(after_help = "Example:
  loop key create second.key     makes second.key and second.pub
  loop receipt witness --to heads.jsonl --key second.key")]
pub struct KeyCreate {
    /// The file of the secret key; the public one gets the ending .pub
    pub file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop key show`
#[derive(Debug, Args)]
#[command(after_help = "Example:
  loop key show > loop.pub   for whoever shall verify your receipts")]
pub struct KeyShow {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop lease`
#[derive(Debug, Subcommand)]
pub enum Lease {
    /// Make a credential known: where its value comes from, and where it may go
    Add(Box<LeaseAdd>),
    /// List leases
    List(LeaseList),
    /// Take a lease back, from every run that has it too
    Revoke(LeaseRevoke),
}

/// `loop lease add`
#[derive(Debug, Args)]
#[command(
    after_help = "The value is read when a run begins and is never kept. Inside the sandbox the
variable holds a placeholder, which is swapped for the value on its way to the
host, in the header alone.

A profile asks for a lease with [[lease]] name = \"NAME\", and can narrow it; loop
exec --lease NAME asks for it as it is.

Sources:
  env:VAR       a variable of the shell that starts loop
  file:PATH     a file of yours that nobody else can read (mode 600)
  keyring:NAME  the keyring, by secret-tool lookup service loop lease NAME
  login:NAME    the key of a model provider that loop login keeps
  command:CMD   what a program writes; started without a shell

Examples:
  loop lease add anthropic --host api.anthropic.com --header x-api-key \\
      --from env:ANTHROPIC_API_KEY
  loop lease add github --host api.github.com --header authorization \\
      --env GITHUB_TOKEN --from 'command:gh auth token' --for 8h

Git needs no variable: what it sends to a lease's host carries the credential.
To push to a repository, and to fetch from it:
  loop lease add ann-site --host github.com --path-prefix /ann/site.git \\
      --basic x-access-token --from 'command:gh auth token'"
)]
pub struct LeaseAdd {
    /// Its name: a-z, 0-9 and hyphens
    pub name: String,
    /// The host it may go to
    #[arg(long, value_name = "HOST")]
    pub host: String,
    /// A port there, instead of 443; can be repeated
    #[arg(long = "port", value_name = "PORT")]
    pub ports: Vec<u16>,
    /// What URL paths have to start with: /v1 is /v1 and all below it
    #[arg(long, value_name = "PATH")]
    pub path_prefix: Option<String>,
    /// An HTTP method, instead of any; can be repeated
    #[arg(long = "method", value_name = "METHOD")]
    pub methods: Vec<String>,
    /// The header that carries it
    #[arg(long, value_name = "NAME", required_unless_present = "basic")]
    pub header: Option<String>,
    /// What precedes it in the header; of authorization it is Bearer unless you say
    #[arg(long, value_name = "WORD")]
    pub scheme: Option<String>,
    /// Instead of a header: the user whose password it is, as Git hosts want it
    #[arg(long, value_name = "USER", conflicts_with_all = ["header", "scheme"])]
    pub basic: Option<String>,
    /// The variable that holds the placeholder inside, instead of the source's own
    #[arg(long, value_name = "VAR")]
    pub env: Option<String>,
    /// Where the value comes from
    #[arg(long, value_name = "SOURCE")]
    pub from: String,
    /// How long it can be lent, as 8h; otherwise until it is revoked
    #[arg(long = "for", value_name = "T")]
    pub lasts: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop lease list`
#[derive(Debug, Args)]
pub struct LeaseList {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop lease revoke`
#[derive(Debug, Args)]
#[command(
    after_help = "A run that has it loses it within a second: what it was used on is closed, and
it is given to no further request."
)]
pub struct LeaseRevoke {
    /// Its name
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop init`
#[derive(Debug, Args)]
pub struct Init {
    #[command(flatten)]
    pub project: Project,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop trust`
#[derive(Debug, Args)]
#[command(after_help = "Until its content is trusted, the security-relevant keys of a project's
.loop/config.toml are ignored, and its .loop/contract.toml is not used. A change
asks again. --forget without --contract takes trust back from both.")]
pub struct Trust {
    /// The project directory
    pub dir: Option<PathBuf>,
    /// The project's .loop/contract.toml, not its configuration
    #[arg(long)]
    pub contract: bool,
    /// Trust without asking
    #[arg(short, long, conflicts_with = "forget")]
    pub yes: bool,
    /// Take trust back
    #[arg(long)]
    pub forget: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop doctor`
#[derive(Debug, Args)]
pub struct Doctor {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop attack`
#[derive(Debug, Args)]
#[command(
    after_help = "An attack case passes when the forbidden effect did not happen; a work case
passes when ordinary work succeeds. A case that can't run here says why, and is
not counted as passed.

Examples:
  loop attack --list
  loop attack --case A1,B7,W1
  loop attack --via 'bwrap --unshare-all --dev-bind / / --'"
)]
pub struct Attack {
    /// List the cases and run none
    #[arg(short, long)]
    pub list: bool,
    /// Only these cases or groups, as A1,B,W3
    #[arg(short, long = "case", value_name = "IDS", value_delimiter = ',')]
    pub cases: Vec<String>,
    /// Another launcher, to which the command is appended
    #[arg(long, value_name = "LAUNCHER")]
    pub via: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `loop demo`
#[derive(Debug, Args)]
pub struct Demo {
    /// Keep the scratch directory
    #[arg(long)]
    pub keep: bool,
}

/// `loop completions`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  loop completions bash > ~/.local/share/bash-completion/completions/loop
  loop completions zsh > ~/.zfunc/_loop
  loop completions fish > ~/.config/fish/completions/loop.fish")]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// A shell that completions exist for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// `loop docs`
#[derive(Debug, Subcommand)]
pub enum Docs {
    /// Write the man pages into DIR, a page a command
    Man {
        /// The directory; made if it doesn't exist
        dir: PathBuf,
    },
}
