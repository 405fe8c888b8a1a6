//! Carrying a patch out: everything is computed and written beside its place first, then put there;
//! what can't be put takes back what was.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Change, Hunk, Line, parse};
use crate::proposal::Outcome;
use crate::tools::Done;
use crate::tools::edit::numbers;
use crate::tools::file::{Content, Staged, new_place, refused};
use crate::tools::place::Project;

/// Applies a patch, or changes nothing.
pub(crate) fn apply(project: &Project, patch: &str) -> Done {
    let nothing = |why: String| format!("{why}; nothing was changed");
    let changes = parse(patch).map_err(|error| nothing(error.to_string()))?;
    let mut steps = Vec::new();
    for change in &changes {
        steps.push(Step::prepare(project, change).map_err(nothing)?);
    }
    refuse_twice(project, &steps).map_err(nothing)?;
    let told: Vec<_> = steps.iter().map(|step| step.told.clone()).collect();
    commit(project, steps)?;
    Ok(Outcome::done(told.join("\n")))
}

/// One file's change, ready.
struct Step {
    /// What is said of it.
    told: String,
    /// What is there before, if anything.
    before: Option<Content>,
    /// What will be there, or elsewhere.
    after: Option<(PathBuf, Staged)>,
}

impl Step {
    fn prepare(project: &Project, change: &Change) -> Result<Self, String> {
        match change {
            Change::Add { path, content, executable } => {
                Self::add(project, path, content, *executable)
            }
            Change::Delete { path, holds } => Self::delete(project, path, holds.as_deref()),
            Change::Update { path, to, hunks } => Self::update(project, path, to.as_deref(), hunks),
        }
    }

    fn add(project: &Project, path: &str, content: &str, executable: bool) -> Result<Self, String> {
        let place = vacant(project, path)?;
        let refused = |error| refused(project, &place, &error);
        let staged = Staged::write(&place, content.as_bytes(), None).map_err(refused)?;
        if executable {
            staged.set_mode(0o755).map_err(refused)?;
        }
        let told = format!("added {}", project.show(&place));
        Ok(Self { told, before: None, after: Some((place, staged)) })
    }

    fn delete(project: &Project, path: &str, holds: Option<&str>) -> Result<Self, String> {
        let place = project.path(path);
        let before = Content::need(project, &place)?;
        if holds.is_some_and(|holds| holds.as_bytes() != before.bytes) {
            return Err(format!("{} holds something else", project.show(&place)));
        }
        let told = format!("deleted {}", project.show(&place));
        Ok(Self { told, before: Some(Content { path: place, ..before }), after: None })
    }

    fn update(
        project: &Project,
        path: &str,
        to: Option<&str>,
        hunks: &[Hunk],
    ) -> Result<Self, String> {
        let place = project.path(path);
        let before = Content::need(project, &place)?;
        let text = before.text(project)?;
        let shown = project.show(&place);
        let (after, lines) = rewrite(text, hunks).map_err(|why| format!("{shown}: {why}"))?;
        let target = match to {
            Some(to) => vacant(project, to)?,
            None => before.path.clone(),
        };
        let refused = |error| refused(project, &target, &error);
        let mode = to.is_none().then_some(before.mode);
        let staged = Staged::write(&target, after.as_bytes(), mode).map_err(refused)?;
        if to.is_some() {
            staged.set_mode(before.mode).map_err(refused)?;
        }
        let told = match (to, lines.as_slice()) {
            (None, lines) => format!("changed {shown} at {}", numbers(lines)),
            (Some(_), []) => format!("moved {shown} to {}", project.show(&target)),
            (Some(_), lines) => {
                format!("moved {shown} to {}, changed {}", project.show(&target), numbers(lines))
            }
        };
        let before = match to {
            Some(_) => Content { path: place, ..before },
            None => before,
        };
        Ok(Self { told, before: Some(before), after: Some((target, staged)) })
    }

    fn places(&self) -> impl Iterator<Item = &Path> {
        let before = self.before.as_ref().map(|before| before.path.as_path());
        let after = self.after.as_ref().map(|(path, _)| path.as_path());
        before.into_iter().chain(after.filter(|after| Some(*after) != before))
    }
}

/// Where a file comes that must not be there yet.
fn vacant(project: &Project, path: &str) -> Result<PathBuf, String> {
    let place = new_place(project, &project.path(path))?;
    match fs::symlink_metadata(&place) {
        Ok(_) => Err(format!("{} exists already", project.show(&place))),
        Err(_) => Ok(place),
    }
}

/// Two changes of one file would depend on their order.
fn refuse_twice(project: &Project, steps: &[Step]) -> Result<(), String> {
    let mut places: Vec<_> = steps.iter().flat_map(Step::places).collect();
    places.sort_unstable();
    let twice = places.iter().zip(places.iter().skip(1)).find(|(one, next)| one == next);
    match twice {
        Some((path, _)) => Err(format!("{} is changed twice", project.show(path))),
        None => Ok(()),
    }
}

/// What has been done, so that it can be taken back.
enum Deed {
    Put(PathBuf),
    Changed(Content),
    Removed(Content),
}

fn commit(project: &Project, steps: Vec<Step>) -> Result<(), String> {
    let mut deeds = Vec::new();
    for step in steps {
        if let Err(why) = carry_out(project, step, &mut deeds) {
            return Err(match take_back(deeds) {
                true => format!("{why}; nothing was changed"),
                false => format!("{why}; not everything could be taken back: look at the files"),
            });
        }
    }
    Ok(())
}

fn carry_out(project: &Project, step: Step, deeds: &mut Vec<Deed>) -> Result<(), String> {
    let Step { before, after, .. } = step;
    let mut before = before;
    if let Some((path, staged)) = after {
        staged.commit().map_err(|error| refused(project, &path, &error))?;
        match before.take_if(|before| before.path == path) {
            Some(before) => deeds.push(Deed::Changed(before)),
            None => deeds.push(Deed::Put(path)),
        }
    }
    if let Some(before) = before {
        let removed = fs::remove_file(&before.path);
        removed.map_err(|error| refused(project, &before.path, &error))?;
        deeds.push(Deed::Removed(before));
    }
    Ok(())
}

/// Takes back the last deed first; false when something stayed.
fn take_back(deeds: Vec<Deed>) -> bool {
    let mut all = true;
    for deed in deeds.into_iter().rev() {
        all &= match deed {
            Deed::Put(path) => fs::remove_file(path).is_ok(),
            Deed::Changed(Content { path, bytes, mode }) => {
                Staged::write(&path, &bytes, Some(mode)).and_then(Staged::commit).is_ok()
            }
            Deed::Removed(Content { path, bytes, mode }) => {
                let staged = Staged::write(&path, &bytes, None);
                staged.and_then(|it| it.set_mode(mode).and_then(|()| it.commit())).is_ok()
            }
        };
    }
    all
}

/// The text after every hunk, and the lines of it at which they are.
fn rewrite(text: &str, hunks: &[Hunk]) -> Result<(String, Vec<usize>), String> {
    let crlf = text.contains("\r\n");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let bare: Vec<&str> = lines.iter().map(|line| without_end(line)).collect();
    let mut after = String::with_capacity(text.len());
    let (mut done, mut at) = (0, Vec::new());
    for (number, hunk) in (1..).zip(hunks) {
        let start =
            place(&bare, text, done, hunk).map_err(|why| format!("hunk {number}: {why}"))?;
        copy(&mut after, &lines, done, start);
        at.push(after.bytes().filter(|byte| *byte == b'\n').count() + 1);
        done = write_hunk(&mut after, &lines, start, hunk, crlf);
    }
    copy(&mut after, &lines, done, lines.len());
    Ok((after, at))
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn copy(after: &mut String, lines: &[&str], from: usize, to: usize) {
    lines.get(from..to).unwrap_or_default().iter().for_each(|line| after.push_str(line));
}

/// Writes what the hunk makes of the lines at `start`; returns the line after them.
fn write_hunk(after: &mut String, lines: &[&str], start: usize, hunk: &Hunk, crlf: bool) -> usize {
    let end = if crlf { "\r\n" } else { "\n" };
    let mut at = start;
    for line in &hunk.lines {
        match line {
            Line::Keep(_) => {
                finish_line(after, end);
                after.push_str(lines.get(at).copied().unwrap_or_default());
                at += 1;
            }
            Line::Remove(_) => at += 1,
            Line::Add(text) => {
                finish_line(after, end);
                after.push_str(text);
                after.push_str(end);
            }
        }
    }
    let ended_without = at == lines.len() && !lines.last().is_none_or(|line| line.ends_with('\n'));
    let shall_end_without = match hunk.line {
        // A diff says how the last line ends, if that is one of its own.
        Some(_) => hunk.unfinished[1],
        None => ended_without,
    };
    if at == lines.len() && shall_end_without {
        let bare = without_end(after).len();
        after.truncate(bare);
    } else if at == lines.len() && !after.is_empty() {
        finish_line(after, end);
    }
    at
}

/// A line comes after one that was the last and had no end.
fn finish_line(after: &mut String, end: &str) {
    if !after.is_empty() && !after.ends_with('\n') {
        after.push_str(end);
    }
}

/// The line at which a hunk begins.
fn place(bare: &[&str], text: &str, from: usize, hunk: &Hunk) -> Result<usize, String> {
    let from = after_anchor(bare, from, hunk.anchor.as_deref())?;
    let old = hunk.old();
    if old.is_empty() {
        // Only a diff says where nothing is: after that line.
        let stated = hunk.line.filter(|line| (from..=bare.len()).contains(line));
        let end = if hunk.anchor.is_some() { from } else { bare.len() };
        return Ok(stated.unwrap_or(end));
    }
    let fits = |start: &usize| bare.get(*start..*start + old.len()) == Some(old.as_slice());
    let reaches_end = |start: &usize| !hunk.at_end || start + old.len() == bare.len();
    let finished = |start: &usize| {
        let is_last = start + old.len() == bare.len();
        !hunk.unfinished[0] || (is_last && !text.ends_with('\n'))
    };
    let places: Vec<_> =
        (from..bare.len()).filter(fits).filter(reaches_end).filter(finished).collect();
    let stated = hunk.line.map(|line| line.saturating_sub(1));
    match (places.as_slice(), hunk.anchor.is_some()) {
        (places, _) if stated.is_some_and(|stated| places.contains(&stated)) => {
            Ok(stated.unwrap_or_default())
        }
        ([], _) => Err(missing(bare, from, &old)),
        ([one], _) | ([one, ..], true) => Ok(*one),
        (many, false) => {
            let lines: Vec<_> = many.iter().map(|line| line + 1).collect();
            Err(format!("its lines are at {}: give more of what is around", numbers(&lines)))
        }
    }
}

/// The line after the one that the hunk names.
fn after_anchor(bare: &[&str], from: usize, anchor: Option<&str>) -> Result<usize, String> {
    let Some(anchor) = anchor else { return Ok(from) };
    let is = |line: &&str| **line == *anchor || line.trim() == anchor.trim();
    let found = bare.iter().skip(from).position(is).map(|at| from + at + 1);
    found.ok_or_else(|| format!("there is no line {anchor:?}"))
}

/// How far the lines of a hunk agree at the best, so that the difference can be seen.
fn missing(bare: &[&str], from: usize, old: &[&str]) -> String {
    let agree = |start: usize| {
        let there = bare.get(start..).unwrap_or_default();
        there.iter().zip(old).take_while(|(there, old)| there == old).count()
    };
    let best = (from..bare.len()).max_by_key(|start| (agree(*start), usize::MAX - start));
    let best = best.map(|start| (start, agree(start))).filter(|(_, agree)| *agree > 0);
    match best.and_then(|(start, agree)| old.get(agree).map(|wanted| (start + agree, wanted))) {
        Some((at, wanted)) => match bare.get(at) {
            Some(there) => format!("line {} is {there:?}, not {wanted:?}", at + 1),
            None => format!("the file ends before {wanted:?}"),
        },
        None => format!("its lines are not there: {:?}", old.first().unwrap_or(&"")),
    }
}
