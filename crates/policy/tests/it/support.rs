//! Requests in few words.

use std::collections::BTreeMap;
use std::path::PathBuf;

use policy::{
    Action, Authority, Flags, Layer, Library, NoLibrary, Outcome, ProfileErrors, Request, Resolved,
    Source, Trust, Verdict,
};

/// Profiles by name.
#[derive(Default)]
pub(crate) struct Shelf(pub(crate) BTreeMap<&'static str, &'static str>);

impl Library for Shelf {
    fn find(&self, name: &str) -> Result<Option<Source>, String> {
        if name == "broken" {
            return Err("permission denied".to_owned());
        }
        let file = |text: &&str| source(&format!("~/.loop/profiles/{name}.toml"), text);
        Ok(self.0.get(name).map(file))
    }
}

pub(crate) fn source(name: &str, text: &str) -> Source {
    Source { layer: Layer::Named, name: name.to_owned(), text: text.to_owned() }
}

pub(crate) fn request(name: &str) -> Request<'static> {
    Request {
        profile: None,
        profile_name: name.to_owned(),
        owner: None,
        project: None,
        flags: Flags::default(),
        home: PathBuf::from("/home/ann"),
        project_dir: PathBuf::from("/home/ann/work/site"),
        subject: "ann".to_owned(),
        library: &NoLibrary,
    }
}

/// The request of a profile given as a file.
pub(crate) fn with_profile(text: &str) -> Request<'static> {
    Request { profile: Some(source("test.toml", text)), ..request("test") }
}

pub(crate) fn with_owner(request: Request<'static>, text: &str) -> Request<'static> {
    Request { owner: Some(source("~/.loop/config.toml", text)), ..request }
}

pub(crate) fn with_project(request: Request<'static>, text: &str) -> Request<'static> {
    let project = source(".loop/config.toml", text);
    Request { project: Some((project, Trust::Trusted)), ..request }
}

pub(crate) fn resolved(request: Request<'_>) -> Resolved {
    match policy::resolve(request) {
        Ok(resolved) => resolved,
        Err(errors) => panic!("{errors}"),
    }
}

pub(crate) fn authority(request: Request<'_>) -> Authority {
    resolved(request).authority
}

pub(crate) fn errors(request: Request<'_>) -> ProfileErrors {
    match policy::resolve(request) {
        Ok(_) => panic!("it resolves"),
        Err(errors) => errors,
    }
}

pub(crate) fn action(text: &str) -> Action {
    Action::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn verdict(authority: &Authority, text: &str) -> Verdict {
    authority.decide(&action(text))
}

pub(crate) fn outcome(authority: &Authority, text: &str) -> Outcome {
    verdict(authority, text).outcome
}
