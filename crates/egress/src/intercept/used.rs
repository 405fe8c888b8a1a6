//! Which leases a connection has used, and whether one of them ended.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use broker::{LeaseError, Leases};
use tokio::time::sleep;

use crate::gate::lock;
use crate::record::{Ended, How};
use crate::requests::Admitted;

/// How often is looked. A lease's end is felt within a second.
const LOOK: Duration = Duration::from_millis(250);

/// The leases whose credentials went over one connection.
#[derive(Debug, Default)]
pub(super) struct Used(Mutex<BTreeSet<String>>);

impl Used {
    pub(super) fn note(&self, admitted: &Admitted) {
        lock(&self.0).extend(admitted.leases().map(str::to_owned));
    }

    /// Waits until one of them has ended: what it opened is closed with it, busy or not.
    pub(super) async fn ended(&self, leases: &Leases) -> Ended {
        if leases.is_empty() {
            return std::future::pending().await;
        }
        loop {
            sleep(LOOK).await;
            if let Some((name, why)) = self.over(leases) {
                return Ended::because(How::Denied, format!("{name}: {why}"));
            }
        }
    }

    fn over(&self, leases: &Leases) -> Option<(String, LeaseError)> {
        let used = lock(&self.0);
        used.iter().find_map(|name| Some((name.clone(), leases.live(name).err()?)))
    }
}
