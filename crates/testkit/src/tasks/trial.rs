//! Trying a task, without Loop and with it.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;

use contract::{Check, Exit};

use super::{Answer, Task};
use crate::{Launch, Ran, Repository, World, need, program};

/// Where programs are, apart from toolchains.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What Loop said of an answer.
pub struct Tried {
    /// Whether it was right.
    pub verdict: Verdict,
    /// How the run ended, and what it printed.
    pub ran: Ran,
}

/// Whether Loop was right about an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Honest and verified; or a lie, and not verified, and it is said why.
    Right,
    /// A lie is verified.
    FalseAcceptance,
    /// An honest answer is not.
    FalseRefusal,
    /// The run broke, or does not say why it believes nothing.
    Broken(String),
}

impl Task {
    /// Tries an answer without Loop. Why it is not what the file says; nothing, if it is.
    #[must_use]
    pub fn try_bare(&self, answer: &Answer) -> Option<String> {
        let world = World::new();
        let project = self.lay(&world);
        let shell = |line: &str| self.in_path(world.outside(&project, &["bash", "-c", line])).run();
        for does in &answer.does {
            shell(does);
        }
        let failed = self.checks().into_iter().find_map(|check| {
            let ran = self.in_path(bare(&check, &world, &project)).run();
            (!is_met(&check, &ran)).then(|| ran.to_string())
        });
        match failed {
            Some(ran) if answer.fools => return Some(format!("a check fails: {ran}")),
            None if !answer.fools => return Some("the checks pass".to_owned()),
            _ => {}
        }
        for (path, text) in &self.truth.files {
            project.write(path, text);
        }
        let truth = shell(&self.truth.run);
        let is_right = truth.code() == Some(0) && truth.out().trim_end().ends_with("right");
        (is_right != answer.honest).then(|| format!("the truth disagrees: {truth}"))
    }

    /// Tries an answer as `loop run --model scripted:…`.
    #[must_use]
    pub fn try_with_loop(&self, answer: &Answer) -> Tried {
        let world = World::with_real_home();
        let project = self.lay(&world);
        let script = world.write("script.toml", answer.script());
        let model = format!("scripted:{}", script.display());
        let mut words = vec!["run".to_owned(), "--model".to_owned(), model];
        if let Some(contract) = &self.contract {
            let contract = world.write("contract.toml", contract);
            words.extend(["--contract".to_owned(), contract.display().to_string()]);
        }
        words.extend(self.checks.iter().flat_map(|line| ["--check".to_owned(), line.clone()]));
        words.extend(["--".to_owned(), self.task.clone()]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = self.in_path(world.run_loop(&project, &words)).run();
        Tried { verdict: answer.judge(&ran), ran }
    }

    /// The project, committed.
    fn lay<'a>(&self, world: &'a World) -> Repository<'a> {
        self.needs.iter().for_each(|name| need(name));
        let project = world.repository("project");
        project.git(&["config", "user.name", "Ada Lovelace"]);
        project.git(&["config", "user.email", "ada@example.com"]);
        for (path, text) in &self.files {
            let path = project.write(path, text);
            if self.executable.iter().any(|name| path.ends_with(name)) {
                let mode = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(&path, mode).expect("a file of one's own has a mode");
            }
        }
        project.commit("The project");
        if let Some(line) = &self.setup {
            world.outside(&project, &["bash", "-c", line]).run().expect_code(0);
        }
        project
    }

    /// The same programs in every arm, whatever the developer has in front of them.
    fn in_path(&self, launch: Launch) -> Launch {
        let Some(cargo) = program("cargo").filter(|_| self.needs.iter().any(|it| it == "cargo"))
        else {
            return launch.env("PATH", SYSTEM_PATH);
        };
        let mut path = OsString::from(cargo.parent().expect("a program lies in a directory"));
        path.push(":");
        path.push(SYSTEM_PATH);
        launch.env("PATH", path).env("RUSTUP_HOME", rustup_home())
    }

    /// Its checks, as Loop reads them.
    fn checks(&self) -> Vec<Check> {
        let contract = match &self.contract {
            Some(text) => contract::read(text, &self.name),
            None => contract::of_commands(&self.checks).map_err(|fault| vec![fault]),
        };
        contract.unwrap_or_else(|faults| panic!("{}: {faults:?}", self.name)).checks
    }
}

fn rustup_home() -> OsString {
    std::env::var_os("RUSTUP_HOME").unwrap_or_else(|| {
        let mut home = std::env::var_os("HOME").expect("HOME is not set");
        home.push("/.rustup");
        home
    })
}

/// A check as the host runs it.
fn bare(check: &Check, world: &World, project: &Repository<'_>) -> Launch {
    let directory = check.directory.as_ref().map(|below| below.text().into_owned());
    let directory = project.path().join(directory.unwrap_or_default());
    let argv = check.run.argv();
    world.outside(directory, &argv.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Whether it ends and prints as it has to. Without Loop, nobody counts tests.
fn is_met(check: &Check, ran: &Ran) -> bool {
    let ended = match check.expect.exit {
        Exit::Code(code) => ran.code() == Some(code.into()),
        Exit::Nonzero => ran.code().is_some_and(|code| code != 0),
    };
    ended && ran.out().contains(check.expect.stdout.as_deref().unwrap_or_default())
}

impl Answer {
    /// The script of a model that does this.
    fn script(&self) -> String {
        let quoted = |text: &str| serde_json::to_string(text).expect("a text is JSON");
        let mut script = format!("name = {}\n", quoted(&self.name));
        for does in &self.does {
            script += "\n[[turn]]\ntext = \"I work.\"\n";
            script += &format!(
                "call = [{{ name = \"bash\", arguments = {{ command = {} }} }}]\n",
                quoted(does)
            );
            script += "\n[[turn]]\nexpect = { results = 1 }\ntext = \"It is done.\"\n";
        }
        script + "repeat = true\n"
    }

    /// Whether the end of a run is right.
    fn judge(&self, ran: &Ran) -> Verdict {
        let printed = format!("{}\n{}", ran.out(), ran.err());
        match (ran.code(), self.honest) {
            (Some(0), true) => Verdict::Right,
            (Some(0), false) => Verdict::FalseAcceptance,
            (Some(1 | 3), true) => Verdict::FalseRefusal,
            (Some(1 | 3), false) => match &self.says {
                Some(says) if !printed.contains(says) => {
                    Verdict::Broken(format!("it does not name {says}"))
                }
                _ => Verdict::Right,
            },
            (code, _) => Verdict::Broken(format!("it ended with {code:?}")),
        }
    }
}
