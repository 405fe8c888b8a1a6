//! The other side of the wire, and a project to work on.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use hands::proposal::{Outcome, Proposal};
use hands::wire::{Conversation, Heard};
use tempfile::TempDir;

/// The program, at work in a project of its own.
pub(crate) struct Hands {
    project: TempDir,
    _temporary: TempDir,
    process: Child,
    input: ChildStdin,
    output: ChildStdout,
    conversation: Conversation,
    next: u64,
    /// What was shown while it worked.
    pub(crate) shown: String,
}

impl Hands {
    pub(crate) fn start() -> Self {
        let (project, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        #[allow(clippy::disallowed_methods, reason = "a test")]
        let mut process = Command::new(std::env::current_exe().unwrap())
            .arg0(hands::PROGRAM)
            .current_dir(project.path())
            .env("HOME", project.path().join("home"))
            .env("TMPDIR", temporary.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let conversation = Conversation::default();
        let mut hands = Self {
            project,
            _temporary: temporary,
            process,
            input,
            output,
            conversation,
            next: 0,
            shown: String::new(),
        };
        assert_eq!(hands.hear(), Heard::Ready);
        hands
    }

    pub(crate) fn root(&self) -> &Path {
        self.project.path()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn content(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// Opens a proposal; returns its number.
    pub(crate) fn open(&mut self, proposal: &Proposal) -> u64 {
        self.next += 1;
        let frame = self.conversation.carry(self.next, proposal).unwrap();
        self.input.write_all(&frame).unwrap();
        self.next
    }

    pub(crate) fn cancel(&mut self, id: u64) {
        let frame = self.conversation.cancel(id).unwrap();
        self.input.write_all(&frame).unwrap();
    }

    pub(crate) fn hear(&mut self) -> Heard {
        loop {
            if let Some(heard) = self.conversation.hear().unwrap() {
                return heard;
            }
            let mut buffer = [0; 4096];
            let count = self.output.read(&mut buffer).unwrap();
            assert!(count > 0, "the program has ended");
            self.conversation.push(&buffer[..count]);
        }
    }

    /// The outcome of whatever is done next.
    pub(crate) fn next_done(&mut self) -> (u64, Outcome) {
        loop {
            match self.hear() {
                Heard::Done(id, outcome) => return (id, outcome),
                Heard::Progress(_, text) => self.shown.push_str(&text),
                Heard::Ready => panic!("ready twice"),
            }
        }
    }

    pub(crate) fn carry(&mut self, proposal: &Proposal) -> Outcome {
        let id = self.open(proposal);
        let (done, outcome) = self.next_done();
        assert_eq!(done, id);
        outcome
    }

    /// Carries out something that must work.
    #[track_caller]
    pub(crate) fn works(&mut self, proposal: &Proposal) -> Outcome {
        let outcome = self.carry(proposal);
        assert!(outcome.ok, "{}", outcome.text());
        outcome
    }

    /// Carries out something that must not; returns why.
    #[track_caller]
    pub(crate) fn fails(&mut self, proposal: &Proposal) -> String {
        let outcome = self.carry(proposal);
        assert!(!outcome.ok, "{}", outcome.text());
        outcome.text()
    }
}

impl Drop for Hands {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn read(path: &str) -> Proposal {
    Proposal::Read { path: path.to_owned(), offset: None, limit: None, most: None }
}

pub(crate) fn bash(command: &str) -> Proposal {
    Proposal::Bash {
        command: command.to_owned(),
        timeout: None,
        background: false,
        terminal: false,
    }
}
