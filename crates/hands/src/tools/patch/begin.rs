//! The `*** Begin Patch` format: files by name, hunks found by what they hold.

use super::{Change, Hunk, Line, Lines, PatchError};

/// The line that a patch of this format starts with.
pub(super) const FIRST: &str = "*** Begin Patch";
const LAST: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";

/// Reads a patch from its first line to its last.
pub(super) fn parse(lines: &mut Lines<'_>) -> Result<Vec<Change>, PatchError> {
    lines.next();
    let mut changes = Vec::new();
    loop {
        if lines.next_if(|line| line.trim_end() == LAST).is_some() {
            break;
        }
        if let Some(path) = lines.next_after("*** Add File: ") {
            let (path, content) = (name(lines, path)?, added(lines)?);
            changes.push(Change::Add { path, content, executable: false });
        } else if let Some(path) = lines.next_after("*** Delete File: ") {
            changes.push(Change::Delete { path: name(lines, path)?, holds: None });
        } else if let Some(path) = lines.next_after("*** Update File: ") {
            changes.push(update(lines, name(lines, path)?)?);
        } else if lines.next_if(|line| line.trim().is_empty()).is_none() {
            let why = "expected *** Add File, *** Update File, *** Delete File or *** End Patch";
            return Err(lines.refuse_next(why));
        }
    }
    match lines.next_if(|line| !line.trim().is_empty()) {
        None => Ok(changes),
        Some(_) => Err(lines.refuse("there is text after *** End Patch")),
    }
}

fn name(lines: &Lines<'_>, path: &str) -> Result<String, PatchError> {
    let path = path.trim();
    if path.is_empty() { Err(lines.refuse("no path is named")) } else { Ok(path.to_owned()) }
}

fn added(lines: &mut Lines<'_>) -> Result<String, PatchError> {
    let mut content = String::new();
    while let Some(line) = lines.next_after("+") {
        content.push_str(line);
        content.push('\n');
    }
    match lines.peek() {
        Some(line) if !line.starts_with("*** ") && !line.trim().is_empty() => {
            Err(lines.refuse_next("every line of a new file starts with +"))
        }
        _ => Ok(content),
    }
}

fn update(lines: &mut Lines<'_>, path: String) -> Result<Change, PatchError> {
    let to = lines.next_after("*** Move to: ");
    let to = to.map(|to| name(lines, to)).transpose()?;
    let mut hunks = Vec::new();
    while let Some(hunk) = hunk(lines)? {
        hunks.push(hunk);
    }
    if hunks.is_empty() && to.is_none() {
        return Err(lines.refuse("the file is not changed"));
    }
    Ok(Change::Update { path, to, hunks })
}

/// The next hunk. `@@` and the line above it may be left out of the first.
fn hunk(lines: &mut Lines<'_>) -> Result<Option<Hunk>, PatchError> {
    let mut hunk = Hunk::default();
    let headed = lines.next_if(|line| line.starts_with("@@"));
    if let Some(head) = headed {
        let anchor = head.trim_start_matches('@').trim();
        hunk.anchor = Some(anchor).filter(|anchor| !anchor.is_empty()).map(str::to_owned);
    }
    while let Some(line) =
        lines.next_if(|line| line.starts_with(['+', '-', ' ']) || line.is_empty())
    {
        hunk.lines.push(match line.split_at_checked(1) {
            Some(("+", text)) => Line::Add(text.to_owned()),
            Some(("-", text)) => Line::Remove(text.to_owned()),
            Some((_, text)) => Line::Keep(text.to_owned()),
            None => Line::Keep(String::new()),
        });
    }
    hunk.at_end = lines.next_if(|line| line.trim_end() == END_OF_FILE).is_some();
    without_empty_end(&mut hunk, lines);
    match (headed, hunk.lines.is_empty()) {
        (None, true) => Ok(None),
        (Some(_), true) => Err(lines.refuse("the hunk is empty")),
        _ => Ok(Some(hunk)),
    }
}

/// An empty line before the next file only separates.
fn without_empty_end(hunk: &mut Hunk, lines: &mut Lines<'_>) {
    let is_last = lines.peek().is_none_or(|line| line.starts_with("*** "));
    while is_last && !hunk.at_end && hunk.lines.last() == Some(&Line::Keep(String::new())) {
        hunk.lines.pop();
    }
}
