//! Replacing text in a file, to the letter.

use names::Digest;

use super::Done;
use super::file::{Content, Staged, refused};
use super::place::Project;
use super::plain::count;
use crate::proposal::{Outcome, Replacement};

/// Line numbers that an error tells.
const TOLD: usize = 10;

/// Replaces in the file at `path`, all or nothing.
pub(crate) fn edit(
    project: &Project,
    path: &str,
    edits: &[Replacement],
    expected: Option<&Digest>,
) -> Done {
    let path = project.path(path);
    let before = Content::need(project, &path)?;
    before.expect(project, expected)?;
    let text = before.text(project)?;
    let (after, lines) = replace_all(text, edits)
        .map_err(|why| format!("{}: {why}; nothing was changed", project.show(&path)))?;
    let refused = |error| refused(project, &path, &error);
    let staged = Staged::write(&before.path, after.as_bytes(), Some(before.mode));
    staged.and_then(Staged::commit).map_err(refused)?;
    let lines = numbers(&lines);
    let text = format!("edited {} at {lines}", project.show(&path));
    Ok(Outcome { digest: Some(Digest::of(after.as_bytes())), ..Outcome::done(text) })
}

/// The text after every replacement, and the lines at which they happened.
fn replace_all(text: &str, edits: &[Replacement]) -> Result<(String, Vec<usize>), String> {
    if edits.is_empty() {
        return Err("no replacement was given".to_owned());
    }
    let mut after = text.to_owned();
    let mut lines = Vec::new();
    for (number, edit) in (1..).zip(edits) {
        let named = |why| if edits.len() > 1 { format!("edit {number}: {why}") } else { why };
        let (next, at) = replace(&after, edit).map_err(named)?;
        after = next;
        lines.extend(at);
    }
    Ok((after, lines))
}

fn replace(text: &str, edit: &Replacement) -> Result<(String, Vec<usize>), String> {
    if edit.old.is_empty() {
        return Err("the text to replace is empty".to_owned());
    }
    let (old, new) = with_line_ends_of(text, edit);
    if old == new {
        return Err("the new text is the old one".to_owned());
    }
    let places: Vec<_> = text.match_indices(&old).map(|(at, _)| line_at(text, at)).collect();
    match places.len() {
        0 => Err(not_there(text, &edit.old)),
        1 => Ok((text.replacen(&old, &new, 1), places)),
        _ if edit.all => Ok((text.replace(&old, &new), places)),
        many => Err(format!(
            "the text is there {many} times, at {}: give more of what is around it, or replace all",
            numbers(&places)
        )),
    }
}

/// A model writes line feeds; a file that ends its lines otherwise goes on doing so.
fn with_line_ends_of(text: &str, edit: &Replacement) -> (String, String) {
    let is_crlf = text.contains("\r\n") && !edit.old.contains('\r');
    let convert = |part: &str| match is_crlf {
        true => part.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => part.to_owned(),
    };
    (convert(&edit.old), convert(&edit.new))
}

/// The number of the line at a byte, from 1.
fn line_at(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Where something like it is, if it differs in white space only.
fn not_there(text: &str, old: &str) -> String {
    let wanted: Vec<_> = old.lines().map(squeezed).collect();
    let lines: Vec<_> = text.lines().map(squeezed).collect();
    let like = lines.windows(wanted.len().max(1)).position(|window| window == wanted);
    match like {
        Some(line) => {
            format!("the text is not there; at line {} it is, with other white space", line + 1)
        }
        None => "the text is not there".to_owned(),
    }
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `line 3`, or `lines 3, 17 and 2 more`.
pub(crate) fn numbers(lines: &[usize]) -> String {
    let told: Vec<_> = lines.iter().take(TOLD).map(ToString::to_string).collect();
    let more = lines.len().saturating_sub(TOLD);
    let word = if lines.len() == 1 { "line" } else { "lines" };
    let more = if more > 0 { format!(" and {}", count(more, "other")) } else { String::new() };
    format!("{word} {}{more}", told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(old: &str, new: &str, all: bool) -> Replacement {
        Replacement { old: old.to_owned(), new: new.to_owned(), all }
    }

    #[test]
    fn replacements_are_exact_and_in_order() {
        let edits = [one("a", "b", false), one("b\n", "c\n", false)];
        assert_eq!(replace_all("x\na\ny", &edits), Ok(("x\nc\ny".to_owned(), vec![2, 2])));
        let all = [one("a", "", true)];
        assert_eq!(replace_all("a\nab\n", &all), Ok(("\nb\n".to_owned(), vec![1, 2])));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let told = |text: &str, edit: Replacement| replace_all(text, &[edit]).unwrap_err();
        assert_eq!(
            told("a\na\n", one("a", "b", false)),
            "the text is there 2 times, at lines 1, 2: give more of what is around it, or replace all"
        );
        assert_eq!(told("a", one("b", "c", true)), "the text is not there");
        assert_eq!(told("a", one("", "c", true)), "the text to replace is empty");
        assert_eq!(told("a", one("a", "a", true)), "the new text is the old one");
        assert_eq!(
            told("\tif x  {\n\t\ty\n", one("if x {\n y", "z", false)),
            "the text is not there; at line 1 it is, with other white space"
        );
        let edits = [one("a", "b", false), one("x", "y", false)];
        assert_eq!(replace_all("a", &edits).unwrap_err(), "edit 2: the text is not there");
    }

    #[test]
    fn line_ends_and_the_last_line_stay() {
        let (after, _) = replace_all("a\r\nb\r\nc", &[one("a\nb", "x\ny\nz", false)]).unwrap();
        assert_eq!(after, "x\r\ny\r\nz\r\nc");
        let (after, _) = replace_all("a\r\nb\n", &[one("a\r\n", "x\r\n", false)]).unwrap();
        assert_eq!(after, "x\r\nb\n");
    }
}
