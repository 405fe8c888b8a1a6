//! `loop models`, `loop login` and `loop logout`.

use std::io::{self, Write as _};

use api::{Engine, LoginRequest, LoginView, ModelView, Problem, exit};
use names::Secret;
use rustix::termios::{LocalModes, OptionalActions, Termios};

use super::{Done, answer};
use crate::args::{Login, Logout, Models};
use crate::console::{Cell, Console, Table, shown};

pub(super) fn models(args: &Models, console: &mut Console, engine: &dyn Engine) -> Done {
    answer(&engine.models()?, args.json, console, |views, console| show(views, console))?;
    Ok(0)
}

fn show(views: &[ModelView], console: &mut Console) -> io::Result<()> {
    let paint = console.out.paint;
    let mut table = Table::default();
    for view in views {
        let (state, more) = match (&view.why, &view.next) {
            (None, _) if view.default => (Cell::painted("default", |t| paint.green(t)), None),
            (None, _) => (Cell::painted("usable", |t| paint.green(t)), None),
            (Some(why), next) => {
                let next = next.as_ref().map(|next| format!("; {next}")).unwrap_or_default();
                (Cell::painted("missing", |t| paint.yellow(t)), Some(format!("{why}{next}")))
            }
        };
        let more = Cell::plain(shown(more.unwrap_or_default()));
        table.row([Cell::plain(shown(&view.model)), state, more]);
    }
    table.write(&mut console.out, 0)
}

pub(super) fn login(args: Login, console: &mut Console, engine: &dyn Engine) -> Done {
    let key = read_key(&args.provider, console)?;
    let request = LoginRequest { provider: args.provider, key, keyring: args.keyring };
    let view = engine.login(request)?;
    answer(&view, args.json, console, show_kept)?;
    Ok(0)
}

fn show_kept(view: &LoginView, console: &mut Console) -> io::Result<()> {
    let provider = shown(&view.provider);
    match view.kept.as_str() {
        "keyring" => writeln!(console.out, "kept the key of {provider} in the keyring")?,
        path => writeln!(console.out, "kept the key of {provider} in {}", shown(path))?,
    }
    writeln!(console.out, "  next  loop models")
}

pub(super) fn logout(args: &Logout, console: &mut Console, engine: &dyn Engine) -> Done {
    let view = engine.logout(&args.provider)?;
    answer(&view, args.json, console, |view, console| {
        let variable = shown(&view.variable);
        writeln!(console.out, "forgot the key of {}; {variable} is still taken if it is set", {
            shown(&view.provider)
        })
    })?;
    Ok(0)
}

/// A line from standard input, which a terminal does not show.
fn read_key(provider: &str, console: &mut Console) -> Result<Secret<String>, Problem> {
    let unread =
        |error: io::Error| Problem::new(exit::UNSAFE, format!("the key can't be read: {error}"));
    let hidden = console.answers.then(|| {
        // Where nobody sees it, nothing is lost.
        let _ = write!(console.err, "key of {}: ", shown(provider));
        let _ = console.err.flush();
        Hidden::enter()
    });
    let mut line = String::new();
    let read = console.input.read_line(&mut line).map_err(unread);
    if hidden.is_some() {
        let _ = writeln!(console.err);
    }
    drop(hidden);
    read?;
    Ok(Secret::new(line.trim().to_owned()))
}

/// The terminal does not show what is typed, until this is dropped.
struct Hidden(Option<Termios>);

impl Hidden {
    fn enter() -> Self {
        let Ok(before) = rustix::termios::tcgetattr(io::stdin()) else { return Self(None) };
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        let set = rustix::termios::tcsetattr(io::stdin(), OptionalActions::Flush, &hidden);
        Self(set.is_ok().then_some(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // A terminal that is gone needs no mode.
            let _ = rustix::termios::tcsetattr(io::stdin(), OptionalActions::Flush, before);
        }
    }
}
