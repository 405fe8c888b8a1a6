//! Reading configuration files: only those that nobody else could have written.
//!
//! A file that another user may write, or replace, is not configuration but an attack: it is
//! refused, never skipped, because a profile without one of its files is another profile.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use api::{Finding, Problem, exit};
use rustix::fs::OFlags;

/// No configuration file is longer, in bytes.
const LONGEST: u64 = 1 << 20;
/// Mode bits: writable by everybody, and "only owners may rename and remove" (inode(7)).
const WORLD_WRITABLE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// How far up the directories above a file are held to be nobody else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All of them: the file is obeyed because of its place.
    EveryDirectory,
    /// The one that holds it: the file is obeyed because of its content.
    ItsDirectory,
}

/// The text of a configuration file; `None` if there is none.
///
/// # Errors
/// When the file can't be read, isn't text, or could have been written or replaced by somebody
/// else.
pub(crate) fn read(path: &Path, reach: Reach) -> Result<Option<String>, Problem> {
    let Some(place) = place_of(path)? else { return Ok(None) };
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(&place)
        .map_err(|error| unreadable(path, &error))?;
    let found = file.metadata().map_err(|error| unreadable(path, &error))?;
    check_file(&place, &found)?;
    check_directories(&place, reach)?;
    check_link(path, reach)?;
    content(path, file).map(Some)
}

/// The way to a file that is reached through a link is somebody's too.
fn check_link(path: &Path, reach: Reach) -> Result<(), Problem> {
    let found = path.symlink_metadata().map_err(|error| unreadable(path, &error))?;
    if !found.is_symlink() {
        return Ok(());
    }
    check_owner(path, &found)?;
    let above = path.parent().unwrap_or(path);
    let above = above.canonicalize().map_err(|error| unreadable(above, &error))?;
    check_directories(&above.join("link"), reach)
}

/// Where the file really is; a link to it may lie anywhere, what it leads to is checked.
fn place_of(path: &Path) -> Result<Option<PathBuf>, Problem> {
    match path.canonicalize() {
        Ok(place) => Ok(Some(place)),
        // A dangling link is no absence: somebody meant a file to be there.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_link(path) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

fn check_file(place: &Path, found: &Metadata) -> Result<(), Problem> {
    if !found.is_file() {
        return Err(refused(place, "it is not a regular file", "put a file there"));
    }
    if found.mode() & WORLD_WRITABLE != 0 {
        return Err(refused(place, "everybody may write to it", "run `chmod o-w` on it"));
    }
    check_owner(place, found)
}

fn check_directories(place: &Path, reach: Reach) -> Result<(), Problem> {
    let mut directories = place.ancestors().skip(1);
    if let Some(own) = directories.next() {
        let found = own.metadata().map_err(|error| unreadable(own, &error))?;
        check_owner(own, &found)?;
        check_directory(own, &found)?;
    }
    if reach == Reach::ItsDirectory {
        return Ok(());
    }
    directories.try_for_each(|directory| {
        let found = directory.metadata().map_err(|error| unreadable(directory, &error))?;
        check_directory(directory, &found)
    })
}

fn check_directory(directory: &Path, found: &Metadata) -> Result<(), Problem> {
    if found.mode() & WORLD_WRITABLE != 0 && found.mode() & STICKY == 0 {
        let fix = "run `chmod o-w` on the directory, or move the file";
        return Err(refused(directory, "everybody may replace what is in it", fix));
    }
    Ok(())
}

fn check_owner(path: &Path, found: &Metadata) -> Result<(), Problem> {
    let uid = found.uid();
    if is_trusted(uid, rustix::process::geteuid().as_raw()) {
        return Ok(());
    }
    let what = format!("it belongs to user {uid}, who is neither you nor root");
    Err(refused(path, &what, "run `chown` on it, if its content is yours"))
}

fn is_trusted(uid: u32, own: u32) -> bool {
    uid == 0 || uid == own
}

fn content(path: &Path, file: File) -> Result<String, Problem> {
    let mut text = String::new();
    match file.take(LONGEST + 1).read_to_string(&mut text) {
        Ok(_) if text.len() as u64 > LONGEST => {
            Err(refused(path, "it is longer than 1 MiB", "split it into profiles"))
        }
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(refused(path, "it is not UTF-8", "save it as UTF-8"))
        }
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    refused(path, &format!("it can't be read: {error}"), "make it readable, or remove it")
}

fn refused(path: &Path, what: &str, fix: &str) -> Problem {
    let file = path.display().to_string();
    let mut problem = Problem::new(exit::UNSAFE, format!("the configuration {file} is refused"));
    problem.findings.push(Finding {
        file,
        line: None,
        key: None,
        what: what.to_owned(),
        fix: Some(fix.to_owned()),
    });
    problem
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn refusal(path: &Path, reach: Reach) -> String {
        let problem = read(path, reach).unwrap_err();
        assert_eq!(problem.code, exit::UNSAFE);
        problem.findings[0].what.clone()
    }

    #[test]
    fn an_absent_file_is_none_and_a_dangling_link_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("config.toml");
        assert_eq!(read(&file, Reach::EveryDirectory).unwrap(), None);
        std::os::unix::fs::symlink("nowhere", &file).unwrap();
        assert!(refusal(&file, Reach::EveryDirectory).contains("can't be read"));
    }

    #[test]
    fn what_others_can_write_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let above = place.path().join("above");
        let own = above.join("own");
        fs::create_dir_all(&own).unwrap();
        let file = own.join("config.toml");
        fs::write(&file, "a").unwrap();
        assert_eq!(read(&file, Reach::EveryDirectory).unwrap().as_deref(), Some("a"));

        mode(&file, 0o646);
        assert_eq!(refusal(&file, Reach::ItsDirectory), "everybody may write to it");
        mode(&file, 0o644);
        mode(&own, 0o777);
        assert_eq!(refusal(&file, Reach::ItsDirectory), "everybody may replace what is in it");
        mode(&own, 0o1777);
        assert!(read(&file, Reach::ItsDirectory).is_ok());
        mode(&above, 0o777);
        assert!(read(&file, Reach::ItsDirectory).is_ok());
        assert_eq!(refusal(&file, Reach::EveryDirectory), "everybody may replace what is in it");
    }

    #[test]
    fn a_link_is_judged_by_what_it_leads_to() {
        let place = tempfile::tempdir().unwrap();
        let open = place.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::write(open.join("real"), "a").unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(open.join("real"), &link).unwrap();
        assert!(read(&link, Reach::EveryDirectory).is_ok());
        mode(&open, 0o777);
        assert!(refusal(&link, Reach::EveryDirectory).contains("replace"));
        mode(&open, 0o755);
        mode(place.path(), 0o777);
        assert!(refusal(&link, Reach::ItsDirectory).contains("replace"));
    }

    #[test]
    fn only_text_of_a_moderate_length_is_read() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("config.toml");
        fs::write(&file, b"\xff").unwrap();
        assert_eq!(refusal(&file, Reach::EveryDirectory), "it is not UTF-8");
        fs::write(&file, vec![b'#'; (1 << 20) + 1]).unwrap();
        assert_eq!(refusal(&file, Reach::EveryDirectory), "it is longer than 1 MiB");
        fs::remove_file(&file).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::RUSR).unwrap();
        assert_eq!(refusal(&file, Reach::EveryDirectory), "it is not a regular file");
    }

    #[test]
    fn only_root_and_oneself_are_trusted() {
        assert!(is_trusted(0, 1000) && is_trusted(1000, 1000) && is_trusted(0, 0));
        assert!(!is_trusted(1001, 1000) && !is_trusted(1000, 0));
    }
}
