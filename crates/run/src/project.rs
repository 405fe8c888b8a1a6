//! Which directory is the project, and what of Git belongs to it. Everything is read as data; no
//! program runs, and nothing read here is obeyed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use git_guard::host::Repository;
use names::Host;

/// A project: the work tree around a directory, or the directory itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its root, resolved.
    pub root: PathBuf,
    /// The directory that was asked for, resolved; the root or below it.
    pub directory: PathBuf,
    /// Git directories outside the root that belong to it.
    pub git: Vec<PathBuf>,
    /// Where its objects are.
    pub objects: Option<PathBuf>,
    /// The commit that is checked out.
    pub commit: Option<String>,
}

impl Project {
    /// Finds the project of `directory`: the nearest directory, itself or above, that somebody
    /// trustworthy marked with a `.git` or a `.loop/config.toml`, or else itself.
    ///
    /// Two things mark no project: `owner_file` is the person's own configuration, and what holds
    /// their `home` is more than any run should see.
    ///
    /// # Errors
    /// When the directory does not resolve.
    pub fn find(directory: &Path, owner_file: &Path, home: &Path) -> io::Result<Self> {
        let directory = fs::canonicalize(directory)?;
        if !directory.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let trusted = [fs::metadata(&directory)?.uid(), rustix::process::geteuid().as_raw(), 0];
        let is_ours =
            |mark: &Path| mark.symlink_metadata().is_ok_and(|found| trusted.contains(&found.uid()));
        let marked = |path: &&Path| {
            let (git, file) = (path.join(".git"), path.join(".loop/config.toml"));
            (is_ours(&git) && (git.is_dir() || git.is_file()))
                || (is_ours(&file) && file.is_file() && !is_same_file(&file, owner_file))
        };
        let small = |path: &&Path| path.parent().is_some() && !home.starts_with(path);
        let root =
            directory.ancestors().filter(small).find(marked).unwrap_or(&directory).to_owned();
        let repository = Repository::of(&root);
        Ok(Self {
            git: repository.as_ref().map(|r| r.outside(&root)).unwrap_or_default(),
            objects: repository.as_ref().map(Repository::objects),
            commit: repository.and_then(|r| r.head_commit()),
            root,
            directory,
        })
    }

    /// The project's contract.
    #[must_use]
    pub fn contract_file(&self) -> PathBuf {
        self.root.join(".loop/contract.toml")
    }

    /// The project's configuration file.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.root.join(".loop/config.toml")
    }

    /// Whether [`Self::config_file`] is in truth the person's own, which is no project's.
    #[must_use]
    pub fn is_configured_by(&self, owner_file: &Path) -> bool {
        is_same_file(&self.config_file(), owner_file)
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other
        || fs::canonicalize(one)
            .is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

/// A Git configuration with the person's name and e-mail, and nothing else of theirs.
///
/// Looks at the variables that Git looks at, then at the two global files: git-config(1).
#[must_use]
pub(crate) fn git_config(home: &Path, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let xdg = variable("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
    let files = [home.join(".gitconfig"), xdg.join("git/config")];
    let texts: Vec<_> = files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
    let find = |name: &str, key: &str| {
        variable(name).or_else(|| texts.iter().find_map(|text| user_value(text, key)))
    };
    let name = find("GIT_AUTHOR_NAME", "name");
    let email = find("GIT_AUTHOR_EMAIL", "email");
    let line = |key: &str, value: Option<String>| {
        value.map(|value| format!("\t{key} = {}\n", quote(&value))).unwrap_or_default()
    };
    // The project may belong to another user of the host, as it looks from inside.
    format!("[user]\n{}{}[safe]\n\tdirectory = *\n", line("name", name), line("email", email))
}

/// A remote that is spelled for ssh is reached over https where the run can reach its host so:
/// there is no ssh in a sandbox, and nobody's keys.
pub(crate) fn over_https<'h>(hosts: impl IntoIterator<Item = &'h Host>) -> String {
    let rewritten = |host: &Host| {
        let starts = [
            format!("git@{host}:"),
            format!("ssh://git@{host}/"),
            format!("ssh://git@{host}:22/"),
            format!("git://{host}/"),
        ];
        let lines = starts.iter().map(|start| format!("\tinsteadOf = \"{start}\"\n"));
        format!("[url \"https://{host}/\"]\n{}", lines.collect::<String>())
    };
    hosts.into_iter().map(rewritten).collect()
}

fn user_value(config: &str, key: &str) -> Option<String> {
    let mut in_user = false;
    let mut value = None;
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            in_user = section
                .split(']')
                .next()
                .is_some_and(|name| name.trim().eq_ignore_ascii_case("user"));
        } else if in_user
            && let Some((name, text)) = line.split_once('=')
            && name.trim().eq_ignore_ascii_case(key)
        {
            value = Some(unquote(text.trim()));
        }
    }
    value
}

fn unquote(text: &str) -> String {
    match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => text.split([';', '#']).next().unwrap_or_default().trim().to_owned(),
    }
}

fn quote(value: &str) -> String {
    let clean: String = value.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", clean.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the owner has neither a file nor a home.
    fn find(directory: &Path) -> io::Result<Project> {
        Project::find(directory, Path::new("/nowhere/config.toml"), Path::new("/nowhere"))
    }

    #[test]
    fn only_name_and_email_are_carried() {
        let home = tempfile::tempdir().unwrap();
        fs::write(
            home.path().join(".gitconfig"),
            "[core]\n\tname = no\n\tpager = evil\n[User]\n\tName = \"Ada \\\"L\\\"\" \n email = ada@x.org ; mine\n\
             [alias]\n\tx = !sh\n",
        )
        .unwrap();
        let config = git_config(home.path(), &|_| None);
        assert_eq!(
            config,
            "[user]\n\tname = \"Ada \\\"L\\\"\"\n\temail = \"ada@x.org\"\n[safe]\n\tdirectory = *\n"
        );
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "Git is the oracle")]
    fn git_reaches_over_https_what_is_spelled_for_ssh() {
        let home = tempfile::tempdir().unwrap();
        let host = Host::parse("git.example.com").unwrap();
        let config = git_config(home.path(), &|_| None) + &over_https([&host]);
        fs::write(home.path().join(".gitconfig"), config).unwrap();
        for (spelled, reached) in [
            ("git@git.example.com:ann/site.git", "https://git.example.com/ann/site.git"),
            ("ssh://git@git.example.com/ann/site", "https://git.example.com/ann/site"),
            ("ssh://git@git.example.com:22/ann/site", "https://git.example.com/ann/site"),
            ("git@git.example.com.evil:x", "git@git.example.com.evil:x"),
            ("ssh://git@other.example.com/x", "ssh://git@other.example.com/x"),
        ] {
            let mut git = std::process::Command::new("git");
            git.args(["ls-remote", "--get-url", spelled]).current_dir(home.path());
            let output = git.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME").output();
            let text = String::from_utf8(output.unwrap().stdout).unwrap();
            assert_eq!(text.trim(), reached);
        }
    }

    #[test]
    fn a_pointer_that_names_a_strange_directory_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("project");
        let secret = place.path().join("secret");
        fs::create_dir_all(secret.join("objects")).unwrap();
        fs::write(secret.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir(&root).unwrap();
        fs::write(root.join(".git"), format!("gitdir: {}\n", secret.display())).unwrap();
        assert_eq!(find(&root).unwrap().git, Vec::<PathBuf>::new());
    }

    #[test]
    fn neither_the_owners_file_nor_the_home_marks_a_project() {
        let place = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(place.path()).unwrap();
        let below = home.join("notes");
        fs::create_dir_all(home.join(".loop")).unwrap();
        fs::create_dir(&below).unwrap();
        let owner = home.join(".loop/config.toml");
        fs::write(&owner, "").unwrap();
        let elsewhere = Path::new("/nowhere");
        let root = |owner: &Path, home: &Path| Project::find(&below, owner, home).unwrap().root;
        assert_eq!(root(elsewhere, elsewhere), home);
        assert_eq!(root(&owner, elsewhere), below);
        fs::create_dir(home.join(".git")).unwrap();
        assert_eq!(root(&owner, elsewhere), home);
        assert_eq!(root(&owner, &home), below);
        assert!(find(&home).unwrap().is_configured_by(&owner));
    }

    #[test]
    fn a_strangers_mark_makes_no_project() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        let below = root.join("work");
        fs::create_dir(&below).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        assert_eq!(find(&below).unwrap().root, root);
        // Only root can give a file away; for anybody else the mark stays their own.
        let given_away = std::os::unix::fs::chown(root.join(".git"), Some(4242), None).is_ok();
        let expected = if given_away { &below } else { &root };
        assert_eq!(&find(&below).unwrap().root, expected);
    }

    #[test]
    fn a_directory_without_a_mark_is_its_own_project() {
        let place = tempfile::tempdir().unwrap();
        let below = place.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        let project = find(&below).unwrap();
        assert_eq!(project.root, fs::canonicalize(&below).unwrap());
        fs::create_dir(place.path().join(".git")).unwrap();
        let project = find(&below).unwrap();
        assert_eq!(project.root, fs::canonicalize(place.path()).unwrap());
        assert_eq!(project.directory, fs::canonicalize(&below).unwrap());
    }
}
