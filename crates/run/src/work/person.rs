//! Questions of the agent go to whoever sits at the terminal.

use agent::{Person, Reply};
use api::event::Question;
use models::Cancel;

use super::drive::Line;

/// Asks over the line.
pub(super) struct Asks<'a>(pub(super) &'a Line);

impl Person for Asks<'_> {
    fn ask(&mut self, question: &Question, cancel: &Cancel) -> Reply {
        self.0.ask(question, cancel)
    }
}
