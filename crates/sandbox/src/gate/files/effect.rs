//! Makes the changes, for the caller and as the caller could: the only file here that changes
//! anything.

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use broker::{Context, Permit};
use names::Digest;
use policy::{Open, Outcome, git_config, guarded};
use rustix::fs::{
    Access, AtFlags, FileType, MemfdFlags, Mode, OFlags, RenameFlags, Timespec, Timestamps,
};
use rustix::io::Errno;
use serde::Serialize;
use sys::notify::Notification;

use super::action::{allow, decided, outright, verdict, write};
use super::linked;
use super::moved;
use super::place::Place;
use super::show::{Content, Unshown};
use super::wire::FileCall;
use crate::gate::answer::{Answer, Denied};
use crate::gate::memory::{CallPath, errno};
use crate::gate::serve::Gate;
use crate::gate::view::{Found, Status, own_link};
use crate::gate::who::started_by;

/// Permission bits that a caller may set: no set-id bits, which would act for the person.
const MODES: u32 = 0o1777;

/// Carries a call out below the mediated trees.
///
/// # Errors
/// Why it is not, for its caller.
pub(in crate::gate) fn carry_out(
    gate: &Gate,
    call: &Notification,
    asked: &FileCall,
) -> Result<Answer, Denied> {
    let deed = Deed { gate, call };
    match asked {
        FileCall::Open { path, flags, mode } => deed.open(path, *flags, *mode),
        FileCall::OpenWithRules { path } => deed.open_with_rules(path),
        FileCall::Rename { from, to, flags } => deed.rename(from, to, *flags),
        FileCall::Link { from, to, follow, empty_path } => {
            deed.link(from, to, *follow, *empty_path)
        }
        FileCall::Symlink { target, at } => deed.symlink(target, at),
        FileCall::Unlink { path, directory } => deed.unlink(path, *directory),
        FileCall::MakeDirectory { path, mode } => deed.make_directory(path, *mode),
        FileCall::MakeNode { path, mode } => deed.make_node(path, *mode),
        FileCall::Truncate { path, length } => deed.truncate(path, *length),
        FileCall::ChangeMode { path, mode, follow } => deed.change_mode(path, *mode, *follow),
        FileCall::ChangeModeOf { descriptor, mode } => deed.change_mode_of(*descriptor, *mode),
        FileCall::ChangeOwner { path, owner, group, follow } => {
            deed.change_owner(deed.find(path, *follow)?, *owner, *group)
        }
        FileCall::ChangeOwnerOf { descriptor, owner, group } => {
            deed.change_owner(deed.descriptor(*descriptor)?, *owner, *group)
        }
        FileCall::SetTimes { path, times, follow } => {
            deed.set_times(&deed.find(path, *follow)?, *times)
        }
        FileCall::SetTimesOf { descriptor, times } => {
            deed.set_times(&deed.descriptor(*descriptor)?, *times)
        }
        FileCall::ChangeAttribute { path, follow } => {
            deed.change_attribute(&deed.find(path, *follow)?)
        }
        FileCall::ChangeAttributeOf { descriptor } => {
            deed.change_attribute(&deed.descriptor(*descriptor)?)
        }
        FileCall::Access { path, mode, follow } => deed.access(&deed.find(path, *follow)?, *mode),
    }
}

/// What the ledger says of a guarded file that was written.
#[derive(Serialize)]
struct Written {
    done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
}

/// One change for one caller.
struct Deed<'a> {
    gate: &'a Gate,
    call: &'a Notification,
}

impl Deed<'_> {
    /// From here on nobody else changes anything below the trees.
    fn act(&self) -> MutexGuard<'_, ()> {
        self.gate.trees.acting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a change would happen; below a mediated tree the directory is one that can be changed.
    fn place(&self, path: &CallPath, follow: bool) -> Result<Place, Errno> {
        let place = self.gate.view(self.call.thread)?.place(self.call.thread, path, follow)?;
        match place.path.parent().and_then(|parent| Some((parent, self.gate.trees.of(parent)?))) {
            Some((parent, tree)) => {
                let seen = rustix::fs::fstat(&place.directory)?;
                Ok(Place { directory: tree.reach(parent, &seen)?, ..place })
            }
            None => Ok(place),
        }
    }

    /// The root of a tree is a name in a directory that is none.
    fn is_mediated(&self, place: &Place) -> bool {
        place.path.parent().is_some_and(|parent| self.gate.trees.of(parent).is_some())
    }

    fn find(&self, path: &CallPath, follow: bool) -> Result<Found, Errno> {
        self.gate.view(self.call.thread)?.find(self.call.thread, path, follow)
    }

    fn descriptor(&self, number: i32) -> Result<Found, Errno> {
        self.gate.view(self.call.thread)?.descriptor(self.call.thread, number)
    }

    /// The path below its tree, which is what a name means.
    fn below<'p>(&self, path: &'p Path) -> &'p [u8] {
        self.gate.trees.below(path)
    }

    /// The mode that a new file of the caller's gets.
    fn mode(&self, mode: u32) -> Result<Mode, Errno> {
        let status = Status::of(self.call.thread)?;
        let umask = status.value("Umask").and_then(|text| u32::from_str_radix(text, 8).ok());
        Ok(Mode::from_raw_mode(mode & MODES & !umask.ok_or(Errno::SRCH)?))
    }

    fn open(&self, path: &CallPath, flags: i32, mode: u32) -> Result<Answer, Denied> {
        let flags = OFlags::from_bits_retain(flags.cast_unsigned());
        if flags.contains(OFlags::PATH) {
            return Ok(Answer::Proceed);
        }
        let creates = flags.contains(OFlags::CREATE);
        let exclusive = creates && flags.contains(OFlags::EXCL);
        let close_on_exec = flags.contains(OFlags::CLOEXEC);
        let follow = !(exclusive || flags.contains(OFlags::NOFOLLOW));
        let acting = self.act();
        let place = self.place(path, follow)?;
        if !self.is_mediated(&place) {
            return Ok(Answer::Proceed);
        }
        if flags.contains(OFlags::TMPFILE) {
            // Programs make a file with a name then: open(2).
            return Err(Errno::OPNOTSUPP.into());
        }
        let writes = flags.intersects(OFlags::WRONLY | OFlags::RDWR | OFlags::TRUNC);
        if let Some(text) = self.only_content(&place).filter(|_| creates) {
            self.write_over(&place, &text, 0o644)?;
            // What the caller writes goes nowhere.
            let nowhere = rustix::fs::memfd_create("loop-written", MemfdFlags::CLOEXEC)?;
            return Ok(Answer::Give(nowhere, close_on_exec));
        }
        if writes || (creates && place.found.is_none()) {
            allow(self.gate, &place.path)?;
        }
        let given = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        if place.kind() == Some(FileType::Fifo) {
            drop(acting);
            return Ok(Answer::Give(self.open_pipe(&place, given)?, close_on_exec));
        }
        let mode = if creates { self.mode(mode)? } else { Mode::empty() };
        let file = rustix::fs::openat(&place.directory, &*place.name, given, mode)?;
        Ok(Answer::Give(file, close_on_exec))
    }

    /// What a new guarded file can only hold, if the guard is all that is in its way.
    fn only_content(&self, place: &Place) -> Option<Vec<u8>> {
        let guarded = place.found.is_none()
            && verdict(self.gate, &place.path) == Outcome::Ask
            && decided(self.gate, &place.path).rests_on_guard_alone();
        let tree = self.gate.trees.of(&place.path).filter(|_| guarded)?;
        linked::only_content(tree, &place.path)
    }

    /// Waits for somebody who reads, as the caller would: fifo(7). Nobody else waits meanwhile.
    fn open_pipe(&self, place: &Place, flags: OFlags) -> Result<OwnedFd, Errno> {
        const PAUSE: Duration = Duration::from_millis(10);
        let waits = !flags.contains(OFlags::NONBLOCK);
        let now = flags.difference(OFlags::CREATE) | OFlags::NONBLOCK;
        loop {
            match rustix::fs::openat(&place.directory, &*place.name, now, Mode::empty()) {
                Err(Errno::NXIO) if waits => {
                    self.gate.still_waiting(self.call)?;
                    std::thread::sleep(PAUSE);
                }
                Ok(pipe) if waits => {
                    rustix::io::ioctl_fionbio(&pipe, false)?;
                    return Ok(pipe);
                }
                other => return other,
            }
        }
    }

    /// How a path is to be followed can't be said here as well; programs use openat(2) then.
    fn open_with_rules(&self, path: &CallPath) -> Result<Answer, Denied> {
        match self.place(path, true) {
            Ok(place) if !self.is_mediated(&place) => Ok(Answer::Proceed),
            _ => Err(Errno::NOSYS.into()),
        }
    }

    fn rename(&self, from: &CallPath, to: &CallPath, flags: u32) -> Result<Answer, Denied> {
        let acting = self.act();
        let (source, target) = (self.place(from, false)?, self.place(to, false)?);
        match (self.is_mediated(&source), self.is_mediated(&target)) {
            (false, false) => return Ok(Answer::Proceed),
            // The trees are mounts of their own: rename(2).
            (true, false) | (false, true) => return Err(Errno::XDEV.into()),
            (true, true) => {}
        }
        let flags = RenameFlags::from_bits(flags).ok_or(Errno::INVAL)?;
        moved::check(self.gate, &source, &target)?;
        if flags.contains(RenameFlags::EXCHANGE) {
            moved::check(self.gate, &target, &source)?;
        }
        allow(self.gate, &source.path)?;
        if flags == RenameFlags::NOREPLACE && target.found.is_some() {
            return Err(Errno::EXIST.into());
        }
        let is_plain = RenameFlags::NOREPLACE.contains(flags);
        if verdict(self.gate, &target.path) == Outcome::Ask && is_plain {
            return self.replace(acting, from, to, &source, &target);
        }
        allow(self.gate, &target.path)?;
        rustix::fs::renameat_with(
            &source.directory,
            &*source.name,
            &target.directory,
            &*target.name,
            flags,
        )?;
        Ok(Answer::Done)
    }

    /// Writes what a file holds over a guarded one, if a person agrees to just that.
    fn replace(
        &self,
        acting: MutexGuard<'_, ()>,
        from: &CallPath,
        to: &CallPath,
        source: &Place,
        target: &Place,
    ) -> Result<Answer, Denied> {
        let shown = |unshown| unshown_text(&target.path, unshown);
        let after = Content::at(source).map_err(shown)?.ok_or(Errno::NOENT)?;
        let before = Content::at(target).map_err(shown)?;
        let old = before.as_ref().map_or(&[][..], |content| &content.bytes);
        if self.is_ordinary(target, old, &after.bytes) {
            self.write_over(target, &after.bytes, after.mode)?;
            remove_source(source, &after);
            return Ok(Answer::Done);
        }
        let context = self.context(target, old, &after.bytes)?;
        drop(acting);
        let act = write(&target.path, Some(Digest::of(&after.bytes)));
        let permit = self.gate.request(self.call, act, context)?;
        let _acting = self.act();
        let done =
            self.still(from, to, source, target, before.as_ref()).and_then(|(source, target)| {
                self.write_over(&target, &after.bytes, after.mode)?;
                remove_source(&source, &after);
                Ok(())
            });
        self.complete(permit, &done);
        done.map(|()| Answer::Done)
    }

    /// What the two paths stand for, if that is still what was shown.
    fn still(
        &self,
        from: &CallPath,
        to: &CallPath,
        source: &Place,
        target: &Place,
        before: Option<&Content>,
    ) -> Result<(Place, Place), Denied> {
        self.gate.still_waiting(self.call)?;
        let (source_now, target_now) = (self.place(from, false)?, self.place(to, false)?);
        let same_names = source_now.path == source.path && target_now.path == target.path;
        let now =
            Content::at(&target_now).map_err(|unshown| unshown_text(&target.path, unshown))?;
        let same_content = match (before, &now) {
            (None, None) => true,
            (Some(before), Some(now)) => before.is(now),
            _ => false,
        };
        if same_names && same_content {
            Ok((source_now, target_now))
        } else {
            Err(outright(&target.path, "it changed while a person was asked"))
        }
    }

    /// Git's own daily changes of its configuration need nobody.
    fn is_ordinary(&self, target: &Place, before: &[u8], after: &[u8]) -> bool {
        in_git(self.below(&target.path))
            && matches!(target.name.as_slice(), b"config" | b"config.worktree")
            && git_config::is_ordinary_change(before, after)
            && decided(self.gate, &target.path).rests_on_guard_alone()
    }

    fn context(&self, target: &Place, before: &[u8], after: &[u8]) -> Result<Context, Denied> {
        let diff = self.gate.trees.differ.unified(&target.path, before, after);
        let diff = diff.ok_or_else(|| outright(&target.path, "its content is no text to show"))?;
        Ok(Context {
            started_by: started_by(self.call.thread),
            diff: Some(diff),
            ..Context::default()
        })
    }

    fn complete(&self, permit: Permit<Open>, done: &Result<(), Denied>) {
        let because = done.as_ref().err().map(|denied| {
            denied.text().unwrap_or_else(|| std::io::Error::from(denied.errno()).to_string())
        });
        let written = Written { done: done.is_ok(), because };
        // A ledger that takes no more refuses the next request.
        let _ = self.gate.broker.complete(permit, &written);
    }

    fn link(
        &self,
        from: &CallPath,
        to: &CallPath,
        follow: bool,
        empty_path: bool,
    ) -> Result<Answer, Denied> {
        let _acting = self.act();
        let target = self.place(to, false)?;
        if from.bytes.is_empty() && empty_path {
            // Only a privileged caller may link a descriptor: linkat(2).
            return Err(Errno::NOENT.into());
        }
        let source = self.place(from, follow)?;
        match (self.is_mediated(&source), self.is_mediated(&target)) {
            (false, false) => return Ok(Answer::Proceed),
            (true, false) | (false, true) => return Err(Errno::XDEV.into()),
            (true, true) => {}
        }
        allow(self.gate, &source.path)?;
        allow(self.gate, &target.path)?;
        moved::check(self.gate, &source, &target)?;
        rustix::fs::linkat(
            &source.directory,
            &*source.name,
            &target.directory,
            &*target.name,
            AtFlags::empty(),
        )?;
        Ok(Answer::Done)
    }

    fn symlink(&self, target: &[u8], at: &CallPath) -> Result<Answer, Denied> {
        let _acting = self.act();
        let place = self.place(at, false)?;
        if !self.is_mediated(&place) {
            return Ok(Answer::Proceed);
        }
        allow(self.gate, &place.path)?;
        // Git tries out with a link to this name whether there can be links: git-init(1).
        let is_trial = in_git(self.below(&place.path)) && target == b"testing";
        if !is_trial {
            moved::check_link(self.gate, &place.path)?;
        }
        rustix::fs::symlinkat(target, &place.directory, &*place.name)?;
        Ok(Answer::Done)
    }

    fn unlink(&self, path: &CallPath, directory: bool) -> Result<Answer, Denied> {
        let acting = self.act();
        let place = self.place(path, false)?;
        if !self.is_mediated(&place) {
            return Ok(Answer::Proceed);
        }
        let flags = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        // An empty directory means nothing to anybody.
        if !directory && verdict(self.gate, &place.path) == Outcome::Ask {
            return self.remove(acting, path, &place);
        }
        if !directory {
            allow(self.gate, &place.path)?;
        }
        rustix::fs::unlinkat(&place.directory, &*place.name, flags)?;
        Ok(Answer::Done)
    }

    /// Removes a guarded file, if a person agrees.
    fn remove(
        &self,
        acting: MutexGuard<'_, ()>,
        path: &CallPath,
        place: &Place,
    ) -> Result<Answer, Denied> {
        let shown = |unshown| unshown_text(&place.path, unshown);
        let before = Content::at(place).map_err(shown)?.ok_or(Errno::NOENT)?;
        let mut context = self.context(place, &before.bytes, &[])?;
        context.notes.push("the file is removed".to_owned());
        drop(acting);
        let permit = self.gate.request(self.call, write(&place.path, None), context)?;
        let _acting = self.act();
        let done = self.still(path, path, place, place, Some(&before)).and_then(|(_, now)| {
            Ok(rustix::fs::unlinkat(&now.directory, &*now.name, AtFlags::empty())?)
        });
        self.complete(permit, &done);
        done.map(|()| Answer::Done)
    }

    /// A directory is nothing that anybody acts on.
    fn make_directory(&self, path: &CallPath, mode: u32) -> Result<Answer, Denied> {
        let _acting = self.act();
        let place = self.place(path, false)?;
        if !self.is_mediated(&place) {
            return Ok(Answer::Proceed);
        }
        if verdict(self.gate, &place.path) == Outcome::Deny {
            allow(self.gate, &place.path)?;
        }
        rustix::fs::mkdirat(&place.directory, &*place.name, self.mode(mode)?)?;
        Ok(Answer::Done)
    }

    fn make_node(&self, path: &CallPath, mode: u32) -> Result<Answer, Denied> {
        let _acting = self.act();
        let place = self.place(path, false)?;
        if !self.is_mediated(&place) {
            return Ok(Answer::Proceed);
        }
        let kind = match FileType::from_raw_mode(mode) {
            FileType::Unknown | FileType::RegularFile => FileType::RegularFile,
            FileType::Fifo => FileType::Fifo,
            _ => return Err(Errno::PERM.into()),
        };
        allow(self.gate, &place.path)?;
        rustix::fs::mknodat(&place.directory, &*place.name, kind, self.mode(mode)?, 0)?;
        Ok(Answer::Done)
    }

    fn truncate(&self, path: &CallPath, length: u64) -> Result<Answer, Denied> {
        let _acting = self.act();
        let place = self.place(path, true)?;
        if !self.is_mediated(&place) {
            return Ok(Answer::Proceed);
        }
        allow(self.gate, &place.path)?;
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&place.directory, &*place.name, flags, Mode::empty())?;
        rustix::fs::ftruncate(file, length)?;
        Ok(Answer::Done)
    }

    fn change_mode(&self, path: &CallPath, mode: u32, follow: bool) -> Result<Answer, Denied> {
        let _acting = self.act();
        self.set_mode(&self.find(path, follow)?, mode)
    }

    fn change_mode_of(&self, descriptor: i32, mode: u32) -> Result<Answer, Denied> {
        let _acting = self.act();
        self.set_mode(&self.descriptor(descriptor)?, mode)
    }

    fn set_mode(&self, found: &Found, mode: u32) -> Result<Answer, Denied> {
        let Some(tree) = self.gate.trees.of(&found.path) else { return Ok(Answer::Proceed) };
        if mode & 0o6000 != 0 {
            return Err(outright(&found.path, "set-id bits act for the person"));
        }
        // What is executable may be a hook; Git probes its own configuration that way.
        let adds_execute = mode & 0o111 & !found.stat.st_mode != 0;
        let of_git = in_git(self.below(&found.path)) && found.path.ends_with("config");
        if !found.is_directory() && adds_execute && !of_git {
            allow(self.gate, &found.path)?;
        }
        let mode = Mode::from_raw_mode(mode & MODES);
        let file = tree.reach(&found.path, &found.stat)?;
        rustix::fs::chmod(own_link(&file), mode)?;
        Ok(Answer::Done)
    }

    /// Nobody inside can give anything away; to keep everything as it is is no change.
    fn change_owner(&self, found: Found, owner: u32, group: u32) -> Result<Answer, Denied> {
        if self.gate.trees.of(&found.path).is_none() {
            return Ok(Answer::Proceed);
        }
        let status = Status::of(self.call.thread)?;
        let own = |key| {
            let first = status.value(key).and_then(|all| all.split_whitespace().next());
            first.and_then(|number| number.parse::<u32>().ok())
        };
        let keeps = |wanted: u32, key, now: u32| {
            wanted == u32::MAX || (own(key) == Some(now) && self.inside(wanted, now))
        };
        let keeps_all =
            keeps(owner, "Uid", found.stat.st_uid) && keeps(group, "Gid", found.stat.st_gid);
        if keeps_all { Ok(Answer::Done) } else { Err(Errno::PERM.into()) }
    }

    /// Whether a number inside stands for this number outside: there is one of each.
    fn inside(&self, inside: u32, outside: u32) -> bool {
        inside == crate::plan::id_inside(outside)
    }

    fn set_times(&self, found: &Found, times: [Timespec; 2]) -> Result<Answer, Denied> {
        let _acting = self.act();
        let Some(tree) = self.gate.trees.of(&found.path) else { return Ok(Answer::Proceed) };
        let file = tree.reach(&found.path, &found.stat)?;
        let [last_access, last_modification] = times;
        let times = Timestamps { last_access, last_modification };
        rustix::fs::utimensat(&file, "", &times, AtFlags::EMPTY_PATH)?;
        Ok(Answer::Done)
    }

    /// As on a file system that has none, which is what programs that copy them expect.
    fn change_attribute(&self, found: &Found) -> Result<Answer, Denied> {
        match self.gate.trees.of(&found.path) {
            Some(_) => Err(Errno::OPNOTSUPP.into()),
            None => Ok(Answer::Proceed),
        }
    }

    fn access(&self, found: &Found, mode: i32) -> Result<Answer, Denied> {
        let Some(tree) = self.gate.trees.of(&found.path) else { return Ok(Answer::Proceed) };
        let file = tree.reach(&found.path, &found.stat)?;
        let mode = Access::from_bits(mode.cast_unsigned()).ok_or(Errno::INVAL)?;
        rustix::fs::access(own_link(&file), mode)?;
        Ok(Answer::Done)
    }

    /// Puts a new file with just these bytes in place, all at once.
    fn write_over(&self, target: &Place, bytes: &[u8], mode: u32) -> Result<(), Errno> {
        // The kernel gives every call another number.
        let name = format!(".loop-write-{:x}", self.call.id);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode & 0o777);
        let file = rustix::fs::openat(&target.directory, name.as_str(), flags, mode)?;
        let mut file = std::fs::File::from(file);
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        let directory = &target.directory;
        let placed = written.map_err(|error| errno(&error)).and_then(|()| {
            rustix::fs::renameat(directory, name.as_str(), directory, &*target.name)
        });
        if placed.is_err() {
            // What is left then is a file that means nothing.
            let _ = rustix::fs::unlinkat(directory, name.as_str(), AtFlags::empty());
        }
        placed
    }
}

fn unshown_text(path: &Path, unshown: Unshown) -> Denied {
    match unshown {
        Unshown::Kernel(errno) => errno.into(),
        Unshown::NotAFile => outright(path, "only a file with text can be shown"),
        Unshown::TooLong => outright(path, "its content is too long to be shown"),
    }
}

fn in_git(below: &[u8]) -> bool {
    below.split(|byte| *byte == b'/').any(guarded::is_git_name)
}

/// The file that was renamed is gone, as after any rename. One that changed since it was read
/// stays, because what it holds now was not written.
fn remove_source(source: &Place, content: &Content) {
    if let Ok(Some(now)) = Content::at(source)
        && now.is(content)
    {
        // What can't be removed was copied instead of renamed: nothing is lost.
        let _ = rustix::fs::unlinkat(&source.directory, &*source.name, AtFlags::empty());
    }
}
