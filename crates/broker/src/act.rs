//! The actions that there are permits for.

use policy::{
    Action, Apply, Branch, Connect, Discard, Exec, GitPush, Http, Kind, Lease, Open, Publish,
    Resolve, Tool, Undo,
};

/// What outsiders can't implement, and need not see.
pub(crate) mod private {
    /// When the records of an act have to be on disk.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Strength {
        /// Before the permit is minted, because the effect leaves the sandbox.
        Synced,
        /// With the next sync, because the effect stays inside.
        Journaled,
    }

    /// The acts of this file.
    pub trait Sealed {
        /// How strongly they are recorded.
        const STRENGTH: Strength;
    }
}

/// An action that a permit can be for. The list is closed.
pub trait Act: private::Sealed + Clone + Into<Action> {
    /// Its kind; the records are `KIND.intent` and `KIND.result`.
    const KIND: Kind;

    /// What the authority decides about.
    fn action(&self) -> Action {
        self.clone().into()
    }
}

macro_rules! acts {
    ($($act:ident: $strength:ident),+ $(,)?) => {
        $(
            impl private::Sealed for $act {
                const STRENGTH: private::Strength = private::Strength::$strength;
            }

            impl Act for $act {
                const KIND: Kind = Kind::$act;
            }
        )+
    };
}

acts!(
    Exec: Journaled, Tool: Journaled, Open: Synced, Connect: Synced, Resolve: Synced, Http: Synced,
    Lease: Synced, GitPush: Synced, Publish: Synced, Apply: Synced, Discard: Synced, Undo: Synced,
    Branch: Synced,
);
