//! Writing a whole file.

use names::Digest;

use super::Done;
use super::file::{Content, Staged, new_place, refused};
use super::place::Project;
use super::plain::{count, size};
use crate::proposal::Outcome;

/// Writes `content`. A file that is there already must be the `expected` one and keeps its mode;
/// where none is expected, none may be there.
pub(crate) fn write(
    project: &Project,
    path: &str,
    content: &str,
    expected: Option<&Digest>,
) -> Done {
    let path = project.path(path);
    let before = Content::load(project, &path)?;
    let (at, mode) = match (&before, expected) {
        (None, None) => (new_place(project, &path)?, None),
        (Some(_), None) => {
            return Err(format!("{} exists already: read it first", project.show(&path)));
        }
        (None, Some(_)) => return Err(format!("{} is gone", project.show(&path))),
        (Some(before), expected) => {
            before.expect(project, expected)?;
            (before.path.clone(), Some(before.mode))
        }
    };
    let refused = |error| refused(project, &path, &error);
    let staged = Staged::write(&at, content.as_bytes(), mode).map_err(refused)?;
    staged.commit().map_err(refused)?;
    let (shown, lines) = (project.show(&path), content.lines().count());
    let text = format!("wrote {shown}: {}, {}", count(lines, "line"), size(content.len() as u64));
    Ok(Outcome { digest: Some(Digest::of(content.as_bytes())), ..Outcome::done(text) })
}
