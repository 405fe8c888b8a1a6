//! Plays one command line against a fake engine, and keeps what was written.

use std::ffi::OsString;

use api::{Engine, Problem, exit};
use cli::{Console, Stream};

use crate::fake::{Fake, at};

/// What one command line did.
pub(crate) struct Played {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Played {
    /// The whole, for a snapshot.
    pub(crate) fn told(&self, words: &str) -> String {
        let Self { code, out, err } = self;
        format!("$ loop {words}\n{out}--- standard error\n{err}--- exit {code}\n")
    }

    /// Nothing that a terminal would obey came through.
    pub(crate) fn assert_inert(&self) {
        let obeyed = |c: char| c != '\n' && (c.is_control() || names::is_invisible(c));
        for text in [&self.out, &self.err] {
            assert!(!text.contains(obeyed), "not inert: {text:?}");
        }
    }
}

pub(crate) fn play(words: &str, fake: Fake) -> Played {
    play_with(words, fake, |_| {})
}

pub(crate) fn play_painted(words: &str, fake: Fake) -> Played {
    perform(split(words), true, |_| {}, &fake_engine(fake))
}

pub(crate) fn play_with(words: &str, fake: Fake, adjust: impl FnOnce(&mut Console)) -> Played {
    perform(split(words), false, adjust, &fake_engine(fake))
}

pub(crate) fn play_words(words: Vec<OsString>, fake: Fake) -> Played {
    perform(words, false, |_| {}, &fake_engine(fake))
}

pub(crate) fn play_without_engine(words: &str) -> Played {
    let none = || Err(Problem::new(exit::UNSAFE, "no engine"));
    perform(split(words), false, |_| {}, &none)
}

fn split(words: &str) -> Vec<OsString> {
    words.split(' ').map(OsString::from).collect()
}

type Maker = Box<dyn Fn() -> Result<Box<dyn Engine>, Problem>>;

fn fake_engine(fake: Fake) -> Maker {
    let fake = std::cell::RefCell::new(Some(fake));
    Box::new(move || Ok(Box::new(fake.borrow_mut().take().unwrap())))
}

fn perform(
    words: Vec<OsString>,
    colour: bool,
    adjust: impl FnOnce(&mut Console),
    open: &dyn Fn() -> Result<Box<dyn Engine>, Problem>,
) -> Played {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut console = Console {
        out: Stream::new(&mut out, true, colour),
        err: Stream::new(&mut err, true, colour),
        input: &mut std::io::empty(),
        typed: false,
        comes: &|_| true,
        answers: false,
        prompts: false,
        columns: 100,
        now: at("2026-11-29T22:05:00.000Z"),
    };
    adjust(&mut console);
    let arguments = std::iter::once("loop".into()).chain(words);
    let code = cli::run(arguments, &mut console, open);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Played { code, out: text(out), err: text(err) }
}
