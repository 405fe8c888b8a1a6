//! Permits as the product gets them: from a broker, over a ledger on disk.

use std::sync::Arc;

use broker::{Broker, Permit};
use ledger::Ledger;
use names::{Digest, RunId, WorkspacePath, system_clock};
use policy::{Apply, Discard, Flags, NoLibrary, Request, Undo, resolve};
use workspace::{Applied, ApplyError, ChangeSet, Selection, Undone, apply, plan};

use crate::overlay::Overlay;

pub(crate) struct Person {
    broker: Broker,
    run: RunId,
    _ledger: tempfile::TempDir,
}

impl Person {
    pub(crate) fn new() -> Self {
        let request = Request {
            profile: None,
            profile_name: "offline".to_owned(),
            owner: None,
            project: None,
            flags: Flags::default(),
            home: "/home/me".into(),
            project_dir: "/home/me/project".into(),
            subject: "me".to_owned(),
            library: &NoLibrary,
        };
        let authority = Arc::new(resolve(request).unwrap().authority);
        let run = RunId::from_parts(system_clock(), [1, 2, 3, 4]);
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::create(&folder.path().join("ledger"), &run, system_clock).unwrap();
        Self { broker: Broker::new(authority, ledger), run, _ledger: folder }
    }

    pub(crate) fn may_apply(
        &self,
        change_set: Digest,
        paths: u64,
        flagged: Vec<String>,
    ) -> Permit<Apply> {
        let act = Apply { run: self.run.clone(), change_set, paths, flagged };
        self.broker.request(act).unwrap()
    }

    pub(crate) fn may_undo(&self) -> Permit<Undo> {
        self.broker.request(Undo { run: self.run.clone() }).unwrap()
    }

    pub(crate) fn may_discard(&self) -> Permit<Discard> {
        self.broker.request(Discard { run: self.run.clone() }).unwrap()
    }

    /// Plans, asks and applies.
    pub(crate) fn apply(
        &self,
        overlay: &Overlay,
        set: &ChangeSet,
        selection: &Selection,
    ) -> Result<Applied, ApplyError> {
        self.apply_after(&[], overlay, set, selection)
    }

    /// The same, for a run that began with what others left.
    pub(crate) fn apply_after(
        &self,
        earlier: &[ChangeSet],
        overlay: &Overlay,
        set: &ChangeSet,
        selection: &Selection,
    ) -> Result<Applied, ApplyError> {
        let plan = plan(set, selection)?;
        let flagged = plan.flagged.iter().map(ToString::to_string).collect();
        let permit = self.may_apply(set.digest().unwrap(), plan.paths.len() as u64, flagged);
        let (upper, base, store) = (overlay.upper(), overlay.base(), overlay.store());
        apply(&permit, set, earlier, &upper, &base, &store, selection)
    }

    pub(crate) fn undo(&self, overlay: &Overlay) -> Result<Undone, ApplyError> {
        workspace::undo(&self.may_undo(), &overlay.base(), &overlay.store())
    }
}

pub(crate) fn path(text: &str) -> WorkspacePath {
    WorkspacePath::from_bytes(text.as_bytes()).unwrap()
}
