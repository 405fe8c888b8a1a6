//! `loop init`: a project's `.loop/config.toml`, made once and trusted as made.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::Path;

use api::{InitReport, InitRequest, Problem, TrustedFile, exit};
use names::Digest;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::problem::OrProblem as _;
use crate::project::Project;
use crate::settings::Settings;
use crate::{store, trust};

/// What a new file says: nothing, with examples.
const TEMPLATE: &str = "\
# What runs of this project may do, over the profile they use; see `loop policy show`.
# Nothing here applies before you have trusted its content: `loop trust`.

# [limits]
# memory = \"4GiB\"
# wall = \"1h\"

# [[rule]]
# id = \"ask-before-publish\"
# action = \"exec\"
# program = \"cargo\"
# args = [\"publish\", \"**\"]
# verdict = \"ask\"
# reason = \"publishing can't be undone\"

# [[expect]]
# action = \"connect\"
# host = \"example.com\"
# port = 443
# verdict = \"deny\"
";

/// Makes the file; an existing one is left as it is.
pub(crate) fn init(settings: &Settings, request: &InitRequest) -> Result<InitReport, Problem> {
    let project = settings.project(request.dir.as_deref())?;
    let path = project.config_file();
    if project.is_configured_by(&settings.owner_file()) {
        let what = format!("{} is your own configuration, not a project's", path.display());
        let next = "run `loop init` in a project, or write that file yourself";
        return Err(Problem::new(exit::UNSAFE, what).with_next(next));
    }
    let created = create(&project)?;
    if created {
        let digest = Digest::of(TEMPLATE.as_bytes());
        trust::remember(settings, TrustedFile::Configuration, &project.root, digest)?;
    }
    let trusted = trust::is_trusted(settings, &project)?;
    Ok(InitReport { path, created, trusted })
}

/// Whether it was made just now. No link is followed: a repository could lead the file elsewhere.
fn create(project: &Project) -> Result<bool, Problem> {
    let path = project.config_file();
    let directory = path.parent().unwrap_or(&project.root);
    let open = open_directory(directory).map_err(|errno| refused(directory, errno))?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    match rustix::fs::openat(&open, "config.toml", flags, Mode::from_raw_mode(0o644)) {
        Ok(file) => {
            write(file, &open).map_err(store::at(&path)).or_problem()?;
            Ok(true)
        }
        Err(Errno::EXIST) => Ok(false),
        Err(errno) => Err(refused(&path, errno)),
    }
}

fn open_directory(directory: &Path) -> Result<OwnedFd, Errno> {
    match rustix::fs::mkdirat(CWD, directory, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, directory, flags, Mode::empty())
}

fn write(file: OwnedFd, directory: &OwnedFd) -> std::io::Result<()> {
    let mut file = File::from(file);
    file.write_all(TEMPLATE.as_bytes())?;
    file.sync_all()?;
    Ok(rustix::fs::fsync(directory)?)
}

fn refused(path: &Path, errno: Errno) -> Problem {
    let what = format!("{} can't be made: {}", path.display(), std::io::Error::from(errno));
    let problem = Problem::new(exit::UNSAFE, what);
    match errno {
        Errno::LOOP | Errno::NOTDIR => problem.with_next("remove what is in its place"),
        _ => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::World;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn made(world: &World) -> Result<InitReport, Problem> {
        init(&world.settings, &InitRequest::default())
    }

    #[test]
    fn a_new_file_is_trusted_and_an_existing_one_is_kept() {
        let world = World::new();
        let first = made(&world).unwrap();
        assert!(first.created && first.trusted);
        assert_eq!(fs::read_to_string(&first.path).unwrap(), TEMPLATE);
        let second = made(&world).unwrap();
        assert!(!second.created && second.trusted);
        world.file(".loop/config.toml", "[limits]\nprocesses = 1\n");
        let third = made(&world).unwrap();
        assert!(!third.created && !third.trusted);
        assert_eq!(world.text(".loop/config.toml"), "[limits]\nprocesses = 1\n");
    }

    #[test]
    fn what_the_template_shows_is_right_when_it_is_switched_on() {
        let world = World::new();
        let is_code = |line: &&str| line.contains('=') || line.contains('[') || line.trim() == "#";
        let code: Vec<_> =
            TEMPLATE.lines().filter(is_code).map(|line| line.trim_start_matches("# ")).collect();
        world.file("p.toml", &code.join("\n"));
        let project = world.settings.project(None).unwrap();
        let flags = policy::Flags::default();
        let resolved = crate::authority::resolve(&world.settings, &project, Some("p.toml"), flags);
        assert!(resolved.is_ok(), "{resolved:?}");
    }

    #[test]
    fn no_link_leads_it_elsewhere() {
        let world = World::new();
        let elsewhere = world.project.with_file_name("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, world.project.join(".loop")).unwrap();
        assert_eq!(made(&world).unwrap_err().code, exit::UNSAFE);
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        fs::remove_file(world.project.join(".loop")).unwrap();
        fs::create_dir(world.project.join(".loop")).unwrap();
        symlink(elsewhere.join("x"), world.project.join(".loop/config.toml")).unwrap();
        assert!(made(&world).is_err());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn the_persons_own_file_is_no_projects() {
        let world = World::new();
        let dir = Some(world.settings.homes.home.clone());
        let problem = init(&world.settings, &InitRequest { dir }).unwrap_err();
        assert!(problem.what.contains("your own configuration"));
        assert!(!world.settings.owner_file().exists());
    }
}
