//! Unified diffs, as diff(1) and git-diff(1) write them.

use super::{Change, Hunk, Line, Lines, PatchError};

/// What git says of a file before its hunks.
#[derive(Default)]
struct Head {
    from: Option<String>,
    to: Option<String>,
    renamed: Option<(String, String)>,
    executable: bool,
}

/// Reads all files of a diff. Text between them is passed over, as patch(1) does.
pub(super) fn parse(lines: &mut Lines<'_>) -> Result<Vec<Change>, PatchError> {
    let mut changes = Vec::new();
    let mut head = Head::default();
    while let Some(line) = lines.next() {
        if line.starts_with("diff --git ") {
            finish(&mut changes, std::mem::take(&mut head));
        } else if let Some(from) = line.strip_prefix("rename from ") {
            head.renamed = Some((from.to_owned(), String::new()));
        } else if let (Some(to), Some(renamed)) =
            (line.strip_prefix("rename to "), &mut head.renamed)
        {
            to.clone_into(&mut renamed.1);
        } else if line.starts_with("new file mode ") {
            head.executable = line.ends_with("755");
        } else if line.starts_with("old mode ") {
            return Err(lines.refuse("modes are not changed: use chmod"));
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            return Err(lines.refuse("binary files are not patched"));
        } else if let Some(from) = line.strip_prefix("--- ") {
            let Some(to) = lines.next_after("+++ ") else {
                return Err(lines.refuse_next("expected +++ after ---"));
            };
            head.from = file(from);
            head.to = file(to);
            let hunks = hunks(lines)?;
            changes.push(change(lines, std::mem::take(&mut head), hunks)?);
        } else if line.starts_with("@@ ") {
            return Err(lines.refuse("a hunk before any ---"));
        }
    }
    finish(&mut changes, head);
    Ok(changes)
}

/// A file that only moves has no hunks.
fn finish(changes: &mut Vec<Change>, head: Head) {
    if let Some((path, to)) = head.renamed.filter(|(_, to)| !to.is_empty()) {
        changes.push(Change::Update { path, to: Some(to), hunks: Vec::new() });
    }
}

/// The path of `---` or `+++`, without what follows a tab; `None` for /dev/null.
fn file(text: &str) -> Option<String> {
    let path = text.split('\t').next().unwrap_or(text).trim_end();
    (path != "/dev/null").then(|| path.to_owned())
}

fn change(lines: &Lines<'_>, head: Head, hunks: Vec<Hunk>) -> Result<Change, PatchError> {
    if hunks.is_empty() {
        return Err(lines.refuse_next("expected a hunk"));
    }
    let stripped = |path: &str, side: &str| path.strip_prefix(side).unwrap_or(path).to_owned();
    // git's a/ and b/, where both have them.
    let is_git = |path: &Option<String>, side| path.as_ref().is_none_or(|it| it.starts_with(side));
    let git = is_git(&head.from, "a/") && is_git(&head.to, "b/");
    let (a, b) = if git { ("a/", "b/") } else { ("", "") };
    match (head.from, head.to) {
        (None, None) => Err(lines.refuse("both files are /dev/null")),
        (None, Some(to)) => Ok(Change::Add {
            path: stripped(&to, b),
            content: side(&hunks, 1),
            executable: head.executable,
        }),
        (Some(from), None) => {
            Ok(Change::Delete { path: stripped(&from, a), holds: Some(side(&hunks, 0)) })
        }
        (Some(from), Some(to)) => {
            let (path, to) = (stripped(&from, a), stripped(&to, b));
            let to = head.renamed.is_some().then_some(to);
            Ok(Change::Update { path, to, hunks })
        }
    }
}

/// All lines of the hunks before (0) or after (1).
fn side(hunks: &[Hunk], which: usize) -> String {
    let mut text = String::new();
    for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
        match (line, which) {
            (Line::Keep(line), _) | (Line::Remove(line), 0) | (Line::Add(line), 1) => {
                text.push_str(line);
                text.push('\n');
            }
            _ => {}
        }
    }
    let unfinished = hunks.last().and_then(|hunk| hunk.unfinished.get(which)).copied();
    if unfinished == Some(true) {
        text.pop();
    }
    text
}

fn hunks(lines: &mut Lines<'_>) -> Result<Vec<Hunk>, PatchError> {
    let mut hunks = Vec::new();
    while let Some(head) = lines.next_after("@@ ") {
        let (line, counts) =
            ranges(head).ok_or_else(|| lines.refuse("expected @@ -LINE,COUNT +LINE,COUNT @@"))?;
        hunks.push(hunk(lines, line, counts)?);
    }
    Ok(hunks)
}

/// The first line before, and how many lines there are before and after.
fn ranges(head: &str) -> Option<(usize, [usize; 2])> {
    let mut words = head.split(' ');
    let (old, new) = (words.next()?.strip_prefix('-')?, words.next()?.strip_prefix('+')?);
    let range = |text: &str| -> Option<(usize, usize)> {
        let (line, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((line.parse().ok()?, count.parse().ok()?))
    };
    let (line, before) = range(old)?;
    let (_, after) = range(new)?;
    (words.next()? == "@@").then_some((line, [before, after]))
}

/// Exactly as many lines as its head says.
fn hunk(lines: &mut Lines<'_>, line: usize, counts: [usize; 2]) -> Result<Hunk, PatchError> {
    let [mut before, mut after] = counts;
    let mut hunk = Hunk { line: Some(line), ..Hunk::default() };
    while before > 0 || after > 0 {
        let Some(text) = lines.next() else { return Err(lines.refuse("the hunk is cut off")) };
        let (kind, text) = text.split_at_checked(1).unwrap_or((" ", ""));
        let (old, new) = match kind {
            " " => (1, 1),
            "-" => (1, 0),
            "+" => (0, 1),
            "\\" => {
                unfinished(&mut hunk);
                continue;
            }
            _ => return Err(lines.refuse("a line of a hunk starts with space, - or +")),
        };
        let too_many = || lines.refuse("the hunk has more lines than its head says");
        before = before.checked_sub(old).ok_or_else(too_many)?;
        after = after.checked_sub(new).ok_or_else(too_many)?;
        hunk.lines.push(match (old, new) {
            (1, 1) => Line::Keep(text.to_owned()),
            (1, _) => Line::Remove(text.to_owned()),
            _ => Line::Add(text.to_owned()),
        });
    }
    if lines.next_after("\\").is_some() {
        unfinished(&mut hunk);
    }
    Ok(hunk)
}

/// `\ No newline at end of file` is about the line before it.
fn unfinished(hunk: &mut Hunk) {
    hunk.unfinished = match hunk.lines.last() {
        Some(Line::Remove(_)) => [true, hunk.unfinished[1]],
        Some(Line::Add(_)) => [hunk.unfinished[0], true],
        _ => [true; 2],
    };
}
