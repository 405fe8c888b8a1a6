//! The leases that one run can ask for: those the person keeps, and those made for this run alone.

use api::Problem;
use policy::LeaseTerms;

use super::store::{self, Stored};
use crate::settings::Settings;

/// What a run can be lent.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    pub(super) settings: Settings,
    made: Vec<Stored>,
}

impl Offer {
    /// What the person keeps.
    pub(crate) fn kept(settings: &Settings) -> Self {
        Self { settings: settings.clone(), made: Vec::new() }
    }

    /// The same, and these, which nobody keeps. They go before kept ones of their names.
    pub(crate) fn with(self, made: Vec<Stored>) -> Self {
        Self { made, ..self }
    }

    /// The terms of the lease of this name, for a profile that asks for it.
    ///
    /// # Errors
    /// When it can't be read.
    pub(crate) fn terms(&self, name: &str) -> Result<Option<LeaseTerms>, Problem> {
        Ok(self.find(name)?.map(|stored| stored.terms))
    }

    pub(crate) fn find(&self, name: &str) -> Result<Option<Stored>, Problem> {
        match self.made.iter().find(|stored| stored.name == name) {
            Some(made) => Ok(Some(made.clone())),
            None => store::find(&self.settings, name),
        }
    }
}
