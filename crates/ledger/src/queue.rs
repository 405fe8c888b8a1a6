//! Between those who append and the one thread that writes: the chain, the lines that wait for the
//! disk, and who waits for them.
//!
//! A line is chained under the lock, so the order of the file is the order of the chain. One sync
//! serves every line that was chained before it began.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use names::Clock;

use crate::disk::Disk;
use crate::fault::{DiskFault, LedgerError, Operation};
use crate::kind;
use crate::line::{self, Head, MAX_BODY};

/// Appenders wait while this many bytes have not been handed to the disk.
const BUFFER_MAX: usize = 1 << 20;
/// Journaled bytes are synced, though nobody waits, when they would exceed this.
const UNSYNCED_MAX: usize = 2 << 20;
/// Bytes at the end of a file that a loss of power can have damaged: everything before them was
/// synced. An envelope has less than 512 bytes.
pub(crate) const TORN_MAX: usize = UNSYNCED_MAX + BUFFER_MAX + MAX_BODY + 512;

/// Records of these kinds are followed by a signed head.
const SIGNED_AFTER: [&str; 7] = [
    kind::RUN_START,
    kind::VERIFICATION,
    kind::ANSWERED,
    "apply.result",
    "undo.result",
    kind::RECOVERED,
    kind::RUN_END,
];
/// A head is signed after so many records, whatever they are.
const SIGN_EVERY: u64 = 1000;

/// Does anybody wait for a record to be durable?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strength {
    Commit,
    Journal,
}

pub(crate) struct Queue {
    state: Mutex<State>,
    /// Wakes the writer.
    work: Condvar,
    /// Wakes those who wait for a sync or for room.
    done: Condvar,
    /// Wakes the one who signs.
    sign: Condvar,
    clock: Clock,
}

struct State {
    /// Chained, not handed to the disk.
    lines: Vec<u8>,
    /// Head of everything chained.
    head: Head,
    /// Records up to this count are waited for.
    wanted: u64,
    /// Records up to this count are durable.
    durable: u64,
    /// INVARIANT: true only while the writer waits on `work`.
    idle: bool,
    ending: bool,
    fault: Option<DiskFault>,
    /// Heads that somebody is to sign, in order; none where nobody signs.
    signing: Option<Signing>,
}

/// Which heads are to be signed.
struct Signing {
    /// Not signed yet, in order.
    owed: Vec<Head>,
    /// The last one that was owed.
    last: u64,
    /// Will there be no more?
    over: bool,
    /// Why there will be no more.
    fault: Option<Arc<io::Error>>,
}

/// What the writer takes at once.
struct Batch {
    lines: Vec<u8>,
    count: u64,
    wanted: bool,
}

impl Queue {
    /// A queue that continues the chain at `head`, which is durable.
    pub(crate) fn new(head: Head, clock: Clock) -> Self {
        let state = State {
            lines: Vec::new(),
            head,
            wanted: head.count,
            durable: head.count,
            idle: false,
            ending: false,
            fault: None,
            signing: None,
        };
        let [work, done, sign] = [const { Condvar::new() }; 3];
        Self { state: Mutex::new(state), work, done, sign, clock }
    }

    /// No code panics while it holds the lock, so a poisoned lock guards a consistent state.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chains a record; the new head is its.
    pub(crate) fn append(
        &self,
        kind: &str,
        body: &[u8],
        strength: Strength,
    ) -> Result<Head, LedgerError> {
        let mut state = self.room()?;
        let (before, time) = (state.head, (self.clock)());
        let head = line::compose(&mut state.lines, before, time, kind, body);
        state.head = head;
        if let Some(signing) = &mut state.signing {
            signing.consider(head, kind);
        }
        if strength == Strength::Commit {
            state.wanted = head.count;
        }
        self.wake(state);
        Ok(head)
    }

    /// The state, when another line may be added to it.
    fn room(&self) -> Result<MutexGuard<'_, State>, LedgerError> {
        let full = |state: &mut State| state.usable().is_ok() && state.lines.len() >= BUFFER_MAX;
        let state = self.done.wait_while(self.lock(), full);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        state.usable()?;
        Ok(state)
    }

    fn wake(&self, mut state: MutexGuard<'_, State>) {
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        if idle {
            self.work.notify_one();
        }
    }

    /// Returns when the first `count` records are durable.
    pub(crate) fn wait(&self, count: u64) -> Result<(), LedgerError> {
        let waiting = |state: &mut State| state.durable < count && state.fault.is_none();
        let state = self.done.wait_while(self.lock(), waiting);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        match &state.fault {
            Some(fault) if state.durable < count => Err(fault.clone().into()),
            _ => Ok(()),
        }
    }

    /// Makes everything chained so far durable.
    pub(crate) fn sync(&self) -> Result<Head, LedgerError> {
        let mut state = self.lock();
        let head = state.head;
        state.wanted = head.count;
        self.wake(state);
        self.wait(head.count)?;
        Ok(head)
    }

    pub(crate) fn head(&self) -> Head {
        self.lock().head
    }

    /// Lets the writer end when it has synced everything; later appends are refused.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.ending = true;
        self.wake(state);
        self.done.notify_all();
    }

    /// Writes batches until the end or the first fault. Run by the one writer.
    pub(crate) fn drain(&self, disk: &mut dyn Disk) {
        let _end = EndSigning(self);
        let _panic = PoisonOnPanic(self);
        let mut unsynced = 0;
        let mut spare = Vec::new();
        while let Some(batch) = self.take(spare) {
            unsynced += batch.lines.len();
            let sync = batch.wanted || unsynced > UNSYNCED_MAX;
            match put(disk, &batch.lines, sync) {
                Ok(()) if sync => {
                    unsynced = 0;
                    self.publish(batch.count);
                }
                Ok(()) => self.done.notify_all(),
                Err(fault) => return self.poison(fault),
            }
            spare = batch.lines;
        }
    }

    /// The next batch; none when the ledger ends and everything is durable.
    fn take(&self, mut spare: Vec<u8>) -> Option<Batch> {
        spare.clear();
        let rest = |state: &mut State| {
            state.idle = !state.due();
            state.idle
        };
        let state = self.work.wait_while(self.lock(), rest);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let count = state.head.count;
        if state.durable == count {
            return None;
        }
        let wanted = state.wanted > state.durable || state.ending;
        Some(Batch { lines: std::mem::replace(&mut state.lines, spare), count, wanted })
    }

    fn publish(&self, durable: u64) {
        let mut state = self.lock();
        state.durable = durable;
        let owes = state.signing.as_ref().is_some_and(|signing| signing.owes(durable));
        drop(state);
        self.done.notify_all();
        if owes {
            self.sign.notify_one();
        }
    }

    fn poison(&self, fault: DiskFault) {
        self.lock().fault = Some(fault);
        self.done.notify_all();
    }

    /// From here on, heads are owed to somebody who signs.
    pub(crate) fn begin_signing(&self) {
        let mut state = self.lock();
        let last = state.head.count;
        state.signing = Some(Signing { owed: Vec::new(), last, over: false, fault: None });
    }

    /// The newest durable head that is to be signed; those before it are then not owed any more.
    /// None when there will be no more.
    pub(crate) fn owed(&self) -> Option<Head> {
        let nothing = |state: &mut State| {
            let durable = state.durable;
            state.signing.as_ref().is_some_and(|it| !it.over && !it.owes(durable))
        };
        let state = self.sign.wait_while(self.lock(), nothing);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let durable = state.durable;
        state.signing.as_mut()?.take(durable)
    }

    /// No head is signed any more.
    pub(crate) fn give_up_signing(&self, fault: io::Error) {
        if let Some(signing) = &mut self.lock().signing {
            signing.over = true;
            signing.owed.clear();
            signing.fault = Some(Arc::new(fault));
        }
    }

    /// Why heads are not signed any more, if so.
    pub(crate) fn signing_fault(&self) -> Option<Arc<io::Error>> {
        self.lock().signing.as_ref()?.fault.clone()
    }

    /// Lets the one who signs end with the last durable head.
    fn end_signing(&self) {
        let mut state = self.lock();
        let head = state.head;
        let is_whole = state.fault.is_none() && state.durable == head.count;
        if let Some(signing) = &mut state.signing {
            if is_whole && head.count > signing.last && signing.fault.is_none() {
                signing.owed.push(head);
            }
            signing.over = true;
        }
        drop(state);
        self.sign.notify_all();
    }
}

/// Nobody must wait for a writer that is gone.
struct PoisonOnPanic<'a>(&'a Queue);

impl Drop for PoisonOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let source = Arc::new(std::io::Error::other("its writer panicked"));
            self.0.poison(DiskFault { operation: Operation::Write, source });
        }
    }
}

/// Nobody must wait to sign what a writer that is gone would have written.
struct EndSigning<'a>(&'a Queue);

impl Drop for EndSigning<'_> {
    fn drop(&mut self) {
        self.0.end_signing();
    }
}

impl Signing {
    /// Is the record of this kind, the last of `head`, one after which the head is signed?
    fn consider(&mut self, head: Head, kind: &str) {
        let due = SIGNED_AFTER.contains(&kind) || head.count >= self.last + SIGN_EVERY;
        if due && !self.over {
            self.last = head.count;
            self.owed.push(head);
        }
    }

    fn owes(&self, durable: u64) -> bool {
        self.owed.first().is_some_and(|head| head.count <= durable)
    }

    fn take(&mut self, durable: u64) -> Option<Head> {
        let ready = self.owed.partition_point(|head| head.count <= durable);
        self.owed.drain(..ready).next_back()
    }
}

impl State {
    fn usable(&self) -> Result<(), LedgerError> {
        match &self.fault {
            Some(fault) => Err(fault.clone().into()),
            None if self.ending => Err(LedgerError::Finished),
            None => Ok(()),
        }
    }

    /// Is there something for the writer to do?
    fn due(&self) -> bool {
        !self.lines.is_empty() || self.wanted > self.durable || self.ending
    }
}

fn put(disk: &mut dyn Disk, lines: &[u8], sync: bool) -> Result<(), DiskFault> {
    let fault = |operation| move |source| DiskFault { operation, source: Arc::new(source) };
    if !lines.is_empty() {
        disk.append(lines).map_err(fault(Operation::Write))?;
    }
    if sync {
        disk.sync().map_err(fault(Operation::Sync))?;
    }
    Ok(())
}
