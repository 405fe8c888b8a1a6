//! A person with a home and a project, and an engine that knows no other.

use std::fs;
use std::path::{Path, PathBuf};

use api::Homes;
use run::{Host, Settings};
use tempfile::TempDir;

/// Home, project, and what Loop keeps.
pub(crate) struct World {
    _place: TempDir,
    settings: Settings,
}

impl World {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        let (home, project) = (root.join("home"), root.join("project"));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&project).unwrap();
        let homes = Homes { state: home.join(".loop"), config: home.join(".config/loop"), home };
        let environment = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
        let settings = Settings {
            homes,
            user: "ada".to_owned(),
            environment,
            directory: project,
            clock: names::system_clock,
        };
        Self { _place: place, settings }
    }

    pub(crate) fn engine(&self) -> Host {
        Host::new(self.settings.clone())
    }

    /// Writes the owner's configuration.
    pub(crate) fn owner(&self, text: &str) {
        fs::create_dir_all(&self.settings.homes.state).unwrap();
        fs::write(self.settings.owner_file(), text).unwrap();
    }

    pub(crate) fn homes(&self) -> Homes {
        self.settings.homes.clone()
    }

    pub(crate) fn project(&self) -> &Path {
        &self.settings.directory
    }

    pub(crate) fn file(&self, path: &str, text: &str) {
        let path: PathBuf = self.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.project().join(path)).unwrap()
    }

    /// What lies in a directory; nothing if there is none.
    pub(crate) fn names(&self, directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}
