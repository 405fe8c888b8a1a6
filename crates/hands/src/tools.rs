//! The tools, as they are carried out inside the sandbox: with the rights of any command there.
//!
//! Each takes its part of a proposal and always has an outcome. Nothing they find (names, links,
//! pipes, devices, files of any size) makes one panic, wait without end, or hold more than its cap.

pub(crate) mod place;
pub(crate) mod plain;

pub(crate) mod file;
pub(crate) mod read;

pub(crate) mod edit;
pub(crate) mod patch;
pub(crate) mod write;

pub(crate) mod grep;
pub(crate) mod list;
pub(crate) mod walk;

pub(crate) mod command;
pub(crate) mod fetch;
pub(crate) mod html;

use crate::proposal::{Outcome, Proposal};
use place::Project;

/// What a tool ends in when it can't go on: words for the model.
pub(crate) type Done = Result<Outcome, String>;

/// Carries out what is over when it is done; commands and jobs are not, see [`command`].
pub(crate) fn carry_out(project: &Project, proposal: &Proposal) -> Outcome {
    let done = match proposal {
        Proposal::Read { path, offset, limit, most } => {
            read::read(project, path, &read::Wanted::of(*offset, *limit, *most))
        }
        Proposal::Write { path, content, expected } => {
            write::write(project, path, content, expected.as_ref())
        }
        Proposal::Edit { path, edits, expected } => {
            edit::edit(project, path, edits, expected.as_ref())
        }
        Proposal::Patch { patch } => patch::apply(project, patch),
        Proposal::Grep { pattern, path, glob, ignore_case, context, mode, offset } => {
            let search = grep::Search {
                pattern,
                path: path.as_deref(),
                glob: glob.as_deref(),
                ignore_case: *ignore_case,
                context: *context,
                mode: *mode,
                offset: offset.unwrap_or(0),
            };
            grep::grep(project, &search)
        }
        Proposal::Glob { pattern, path, offset } => {
            list::glob(project, pattern, path.as_deref(), offset.unwrap_or(0))
        }
        Proposal::List { path, offset } => {
            list::list(project, path.as_deref().unwrap_or("."), offset.unwrap_or(0))
        }
        Proposal::Fetch { url, offset, most } => fetch::fetch(url, *offset, *most),
        Proposal::Bash { .. } | Proposal::Job { .. } => {
            Err("a command is not carried out here".to_owned())
        }
    };
    done.unwrap_or_else(Outcome::failed)
}
