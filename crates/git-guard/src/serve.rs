//! Takes requests of Git from whoever carries HTTP, reads them, asks, and answers.
//!
//! The order is the guarantee: the body is read as far as its commands and, where that matters, to
//! its end; every reference is decided about; one that is refused refuses all; every intent is on
//! record; only then is the body given away, and only after that is a credential asked for.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use broker::{Broker, Context};
use policy::{Action, Connect, GitPush, Http, Outcome, RefChange};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use crate::action::{Footing, action, change, is_denied, needs_objects};
use crate::answer::{self, Answer, Why};
use crate::effect::{Body, Leaving, Permitted};
use crate::quarantine::{Quarantine, QuarantineError, Store};
use crate::remotes::{Remote, Remotes};
use crate::wire::advert::AdvertReader;
use crate::wire::push::{Command, Opening, PushHead, Unread, opening};
use crate::wire::target::{Asked, Git};

/// Bytes that are read at a time.
const CHUNK: usize = 32 * 1024;
/// Most bytes of a pack that are looked at.
const MOST_STORED: u64 = 256 * 1024 * 1024;
/// Most bytes of a refused push that are read, so that its client gets to read the answer.
const MOST_DRAINED: u64 = 1024 * 1024 * 1024;
/// Pushes whose commands are read at a time, and packs that are stored; others wait.
const READ_AT_ONCE: usize = 64;
const STORED_AT_ONCE: usize = 4;
const BROKEN: &str = "the Git gate is stopping";

/// The Git gate of one run. Clones are the same.
#[derive(Clone)]
pub struct GitGate(Arc<Inner>);

struct Inner {
    broker: Broker,
    store: Store,
    remotes: Mutex<Remotes>,
    reading: Semaphore,
    storing: Arc<Semaphore>,
}

/// What a request is to Git.
pub enum Recognised {
    /// It reads a repository.
    Fetch,
    /// It pushes, or could.
    Push(Box<Push>),
}

/// Why a push is not sent.
#[derive(Debug)]
pub enum Unsent {
    /// It is refused, and this is the answer.
    Refused(Answer),
    /// Its body can't be read.
    Broken(io::Error),
}

impl From<io::Error> for Unsent {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl GitGate {
    /// The gate of the run whose `broker` this is. `store` is where objects are looked at.
    #[must_use]
    pub fn new(broker: Broker, store: Store) -> Self {
        Self(Arc::new(Inner {
            broker,
            store,
            remotes: Mutex::default(),
            reading: Semaphore::new(READ_AT_ONCE),
            storing: Arc::new(Semaphore::new(STORED_AT_ONCE)),
        }))
    }

    /// Whether a push to this destination could be allowed.
    #[must_use]
    pub fn wants(&self, connect: &Connect) -> bool {
        self.0.broker.authority().may_push(&connect.host, None)
    }

    /// What a request is to Git; `None` if it is none of Git's.
    #[must_use]
    pub fn recognise(&self, connect: &Connect, asked: Asked) -> Option<Recognised> {
        match Git::of(&asked)? {
            Git::Fetch => Some(Recognised::Fetch),
            git => Some(Recognised::Push(Box::new(Push {
                gate: self.0.clone(),
                connect: connect.clone(),
                asked,
                git,
                state: State::Unread,
                room: None,
            }))),
        }
    }
}

impl Inner {
    fn remotes(&self) -> MutexGuard<'_, Remotes> {
        // Each change is one step, so what the lock protects is whole even if a thread died.
        self.remotes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request that pushes, or could.
pub struct Push {
    gate: Arc<Inner>,
    connect: Connect,
    asked: Asked,
    git: Git,
    state: State,
    /// Its share of the disk, while what was stored is sent.
    room: Option<OwnedSemaphorePermit>,
}

enum State {
    Unread,
    /// What there is to push to is asked; the answer is read once it is known to be one.
    Discovering(Remote, Option<AdvertReader>),
    /// A push without commands.
    Probing,
    /// A push that may leave.
    Pushing(Remote, PushHead, Leaving),
    Over,
}

impl Push {
    /// Reads as much of the body as it takes, decides, records, and gives the body to send on: the
    /// same bytes. Dropping the future withdraws whatever is asked of a person.
    ///
    /// # Errors
    /// The answer, where it is refused; the body's own error.
    pub async fn judge<'b>(&mut self, body: Body<'b>) -> Result<Body<'b>, Unsent> {
        match self.git.clone() {
            Git::Misspelled(why) => self.refuse_request(body, &Why::of(why)).await,
            Git::Fetch => Ok(body),
            Git::Discovery(repository) => {
                if let Some(why) = self.no_push_to(&repository) {
                    return self.refuse_request(body, &why).await;
                }
                self.state = State::Discovering(self.remote(repository), None);
                Ok(body)
            }
            Git::Push(repository) => {
                if let Some(why) = self.no_push_to(&repository) {
                    return self.refuse_request(body, &why).await;
                }
                self.push(self.remote(repository), body).await
            }
        }
    }

    /// What the client is told where the request is not sent for a reason of somebody else's.
    pub fn refuse(&mut self, why: &Why) -> Answer {
        match &mut self.state {
            State::Pushing(_, head, leaving) => {
                leaving.keep();
                let each: Vec<_> = head.commands.iter().map(|_| Some(why.clone())).collect();
                answer::report(head.reporting, &head.commands, &each, why)
            }
            _ => answer::plain(why),
        }
    }

    /// The server answers with this status.
    pub fn answers(&mut self, status: u16) {
        if let State::Discovering(_, reader) = &mut self.state {
            *reader = (status == 200).then(AdvertReader::default);
        }
    }

    /// Bytes of its answer.
    pub fn reads(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Discovering(_, Some(reader)) => reader.read(bytes),
            State::Pushing(_, _, leaving) => leaving.reads(bytes),
            _ => {}
        }
    }

    /// Records what came of it. `whole`: the answer came to its end.
    pub async fn done(&mut self, whole: bool) {
        self.room = None;
        match std::mem::replace(&mut self.state, State::Over) {
            State::Discovering(remote, Some(reader)) if whole => {
                reader.finish().into_iter().for_each(|advertised| {
                    self.gate.remotes().learn(remote.clone(), advertised);
                });
            }
            State::Pushing(remote, _, leaving) => {
                let gate = self.gate.clone();
                let recorded = spawn_blocking(move || {
                    for command in leaving.complete(whole) {
                        gate.remotes().changed(&remote, &command);
                    }
                });
                let _ = recorded.await;
            }
            _ => {}
        }
    }

    fn remote(&self, repository: String) -> Remote {
        let Connect { host, port } = self.connect.clone();
        Remote { host, port, repository }
    }

    /// Why no push to this repository can be allowed, if so.
    fn no_push_to(&self, repository: &str) -> Option<Why> {
        let (authority, host) = (self.gate.broker.authority(), &self.connect.host);
        if authority.may_push(host, Some(repository)) {
            return None;
        }
        let next = "extend profile {} with [git] push = [\"refs/heads/loop/*\"]";
        Some(Why {
            reason: format!("no push to {host}/{repository} is allowed"),
            next: Some(next.replace("{}", &authority.profile)),
            ..Why::default()
        })
    }

    /// Refuses what is no push that could be decided about.
    async fn refuse_request<'b>(&self, body: Body<'b>, why: &Why) -> Result<Body<'b>, Unsent> {
        self.record(why).await;
        drain(body).await?;
        Err(Unsent::Refused(answer::plain(why)))
    }

    /// Refuses what was read as a push up to some point, in a push's own terms.
    async fn refuse_unread<'b>(&self, body: Body<'b>, unread: Unread) -> Result<Body<'b>, Unsent> {
        let Unread { why, commands, reporting } = unread;
        let why = Why::of(why);
        self.record(&why).await;
        drain(body).await?;
        let each = vec![Some(why.clone()); commands.len()];
        Err(Unsent::Refused(answer::report(reporting, &commands, &each, &why)))
    }

    /// Records that a request is refused as such. Where that fails it is refused all the same.
    async fn record(&self, why: &Why) {
        let path = self.asked.target.split(['?', '#']).next().unwrap_or_default().to_owned();
        let Connect { host, port } = self.connect.clone();
        let method = self.asked.method.clone();
        let http = Http { host, port, method, path, query: None };
        let (broker, reason) = (self.gate.broker.clone(), why.reason.clone());
        let _ = spawn_blocking(move || broker.record_denial(&Action::Http(http), &reason)).await;
    }

    async fn push<'b>(&mut self, remote: Remote, mut body: Body<'b>) -> Result<Body<'b>, Unsent> {
        let mut first = Vec::new();
        let reading = self.gate.reading.acquire().await.map_err(io::Error::other)?;
        let opened = loop {
            let read = read_more(&mut body, &mut first).await?;
            match opening(&first, !read) {
                Ok(None) => {}
                Ok(Some(opened)) => break opened,
                Err(unread) => return self.refuse_unread(body, unread).await,
            }
        };
        drop(reading);
        let head = match opened {
            Opening::Probe => {
                self.state = State::Probing;
                return Ok(Box::pin(io::Cursor::new(first).chain(body)));
            }
            Opening::Push(head) => head,
        };
        let wanted = Arc::new(AtomicBool::new(true));
        let _withdraw = Withdraw(wanted.clone());
        let decision = Decision { gate: self.gate.clone(), remote: remote.clone(), head, wanted };
        decision.go_on(self, first, body).await
    }
}

/// Withdraws what is asked of a person when whoever wanted it is gone.
struct Withdraw(Arc<AtomicBool>);

impl Drop for Withdraw {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The commands of one push, and what it takes to decide about them.
struct Decision {
    gate: Arc<Inner>,
    remote: Remote,
    head: PushHead,
    wanted: Arc<AtomicBool>,
}

/// Why each command is refused; none for those that would be allowed alone.
type Refused = Vec<Option<Why>>;

impl Decision {
    async fn go_on<'b>(
        self,
        push: &mut Push,
        first: Vec<u8>,
        mut body: Body<'b>,
    ) -> Result<Body<'b>, Unsent> {
        let footings = self.footings();
        let pushes = self.pushes(&footings);
        if let Some(refused) = self.refused_anyway(&pushes) {
            return self.refuse(refused, body).await;
        }
        let authority = self.gate.broker.authority();
        let needs =
            pushes.iter().zip(&footings).any(|(one, at)| needs_objects(authority, one, *at));
        let (begin, rest) = split(first, self.head.length);
        let mut looked = Looked::Unneeded;
        let mut held: Body<'b> = Box::pin(io::Cursor::new(rest));
        let mut room = None;
        if needs && self.head.has_pack() {
            let free = self.gate.storing.clone().acquire_owned().await;
            room = Some(free.map_err(io::Error::other)?);
            let (stored, over) = store(&self.gate.store, held, &mut body).await?;
            looked = if over { Looked::TooLarge } else { self.look(&stored).await };
            held = Box::pin(rewound(stored).await?);
        }
        match self.permits(footings, pushes, looked).await {
            Ok(permitted) => {
                let reporting = self.head.reporting;
                let leaving = Leaving::new(self.gate.broker.clone(), permitted, reporting);
                push.room = room;
                push.state = State::Pushing(self.remote, self.head, leaving);
                let whole: Body<'b> = Box::pin(io::Cursor::new(begin).chain(held).chain(body));
                match &mut push.state {
                    State::Pushing(_, _, leaving) => Ok(leaving.send(whole)),
                    _ => Err(Unsent::Broken(io::Error::other(BROKEN))),
                }
            }
            Err(refused) => self.refuse(refused, body).await,
        }
    }

    fn footings(&self) -> Vec<Footing> {
        let remotes = self.gate.remotes();
        let footing = |command| match remotes.is_own(&self.remote, command) {
            true => Footing::Own,
            false => Footing::Unknown,
        };
        self.head.commands.iter().map(footing).collect()
    }

    fn pushes(&self, footings: &[Footing]) -> Vec<GitPush> {
        let Remote { host, repository, .. } = &self.remote;
        let authority = self.gate.broker.authority();
        let commands = self.head.commands.iter().zip(footings);
        let pushes = commands.map(|(one, at)| action(host, repository, one, change(one, *at)));
        pushes
            .map(|push| match push.change {
                // Even as an update, which is less.
                RefChange::Force if is_denied(authority, &push) => {
                    GitPush { change: RefChange::Update, ..push }
                }
                _ => push,
            })
            .collect()
    }

    /// What is refused whatever the objects are. A refusal is final, so nothing is stored for it.
    fn refused_anyway(&self, pushes: &[GitPush]) -> Option<Refused> {
        let authority = self.gate.broker.authority();
        let advertised = self.gate.remotes().advertised(&self.remote);
        let refused: Refused = pushes
            .iter()
            .map(|push| match &advertised {
                None => Some(Why::of("the client did not ask first what there is to push to")),
                Some(advertised) if advertised.has_twin(&push.reference) => Some(Why::of(
                    "the remote has a reference whose name differs from it in case only",
                )),
                Some(_) if is_denied(authority, push) => {
                    let verdict = authority.decide(&push.clone().into());
                    Some(Why::verdict(&verdict, &verdict.reason))
                }
                Some(_) => None,
            })
            .collect();
        refused.iter().any(Option::is_some).then_some(refused)
    }

    /// Takes the pack in, on a thread that may wait.
    async fn look(&self, stored: &tokio::fs::File) -> Looked {
        let (store, command) = (self.gate.store.clone(), self.head.commands.first().cloned());
        let Ok(mut pack) = stored.try_clone().await else {
            return Looked::Fault(BROKEN.to_owned());
        };
        let Some(command) = command else { return Looked::Unneeded };
        if let Err(error) = pack.rewind().await {
            return Looked::Fault(error.to_string());
        }
        let pack = pack.into_std().await;
        let taken = spawn_blocking(move || store.take_in(pack, &command.new)).await;
        taken.map_or_else(|_| Looked::Fault(BROKEN.to_owned()), Looked::from)
    }

    /// Every permit, or why there are none; nothing is permitted for a part of a push.
    async fn permits(
        &self,
        footings: Vec<Footing>,
        pushes: Vec<GitPush>,
        looked: Looked,
    ) -> Result<Vec<Permitted>, Refused> {
        let (broker, commands) = (self.gate.broker.clone(), self.head.commands.clone());
        let (remote, wanted) = (self.remote.clone(), self.wanted.clone());
        let count = commands.len();
        let asked = spawn_blocking(move || {
            let asking = Asking { broker: &broker, looked, remote: &remote, wanted: &wanted };
            asking.all(commands, &footings, pushes)
        });
        asked.await.unwrap_or_else(|_| Err(vec![Some(Why::of(BROKEN)); count]))
    }

    /// Records the denials that are not on record yet, and answers.
    async fn refuse<'b>(&self, refused: Refused, body: Body<'b>) -> Result<Body<'b>, Unsent> {
        drain(body).await?;
        let pushes = self.pushes(&self.footings());
        let of_all = refused.iter().flatten().next().cloned().unwrap_or_default();
        let answer = answer::report(self.head.reporting, &self.head.commands, &refused, &of_all);
        let broker = self.gate.broker.clone();
        let recorded = spawn_blocking(move || {
            for (push, why) in pushes.into_iter().zip(refused) {
                record_denial(&broker, push, why);
            }
        });
        let _ = recorded.await;
        Err(Unsent::Refused(answer))
    }
}

/// Whether the broker refused it already is told by its verdict; what only the gate refuses is
/// recorded as the gate's.
fn record_denial(broker: &Broker, push: GitPush, why: Option<Why>) {
    const OTHERS: &str = "another reference of the same push is refused";
    // A ledger that fails refuses whatever comes next.
    match why {
        Some(why) if why.rule.is_some() && is_denied(broker.authority(), &push) => {
            drop(broker.request(push));
        }
        Some(why) if why.rule.is_some() => {}
        Some(why) => drop(broker.record_denial(&push.into(), &why.reason)),
        None => drop(broker.record_denial(&push.into(), OTHERS)),
    }
}

/// What is known of the objects of a push.
enum Looked {
    /// Nobody had to look.
    Unneeded,
    At(Quarantine),
    TooLarge,
    Fault(String),
}

impl From<Result<Quarantine, QuarantineError>> for Looked {
    fn from(taken: Result<Quarantine, QuarantineError>) -> Self {
        taken.map_or_else(|error| Self::Fault(error.to_string()), Self::At)
    }
}

struct Asking<'a> {
    broker: &'a Broker,
    looked: Looked,
    remote: &'a Remote,
    wanted: &'a AtomicBool,
}

impl Asking<'_> {
    fn all(
        &self,
        commands: Vec<Command>,
        footings: &[Footing],
        pushes: Vec<GitPush>,
    ) -> Result<Vec<Permitted>, Refused> {
        let authority = self.broker.authority();
        let judged: Vec<(Command, GitPush)> = commands
            .into_iter()
            .zip(footings)
            .zip(pushes)
            .map(|((command, footing), push)| {
                let change = change(&command, self.footing(&command, *footing));
                (command, GitPush { change, ..push })
            })
            .collect();
        let outcomes: Vec<Outcome> =
            judged.iter().map(|(_, push)| authority.decide(&push.clone().into()).outcome).collect();
        if outcomes.contains(&Outcome::Deny) {
            return Err(self.denied(&judged, &outcomes));
        }
        self.permitted(judged, &outcomes)
    }

    fn footing(&self, command: &Command, footing: Footing) -> Footing {
        match &self.looked {
            Looked::At(quarantine)
                if footing == Footing::Unknown
                    && !command.old.is_null()
                    && !command.new.is_null()
                    && quarantine.follows(&command.old, &command.new) =>
            {
                Footing::Forward
            }
            _ => footing,
        }
    }

    /// Some are denied now that it is known what they are; they are on record when this returns.
    fn denied(&self, judged: &[(Command, GitPush)], outcomes: &[Outcome]) -> Refused {
        let refused = judged.iter().zip(outcomes).map(|((_, push), outcome)| {
            (*outcome == Outcome::Deny).then(|| match self.broker.request(push.clone()) {
                Err(refusal) => Why::refusal(&refusal),
                Ok(permit) => {
                    self.give_back(vec![permit]);
                    Why::of(BROKEN)
                }
            })
        });
        refused.collect()
    }

    /// Asks for each; those that a person decides about first, so that nothing else is on record
    /// as intended if they say no.
    fn permitted(
        &self,
        judged: Vec<(Command, GitPush)>,
        outcomes: &[Outcome],
    ) -> Result<Vec<Permitted>, Refused> {
        let mut order: Vec<usize> = (0..judged.len()).collect();
        order.sort_by_key(|at| outcomes.get(*at) != Some(&Outcome::Ask));
        let mut permits = Vec::new();
        for at in order {
            let (Some((command, push)), Some(outcome)) = (judged.get(at), outcomes.get(at)) else {
                continue;
            };
            match self.permit(command, push, *outcome) {
                Ok(permit) => permits.push((at, permit)),
                Err(why) => {
                    self.give_back(permits.into_iter().map(|(_, permit)| permit).collect());
                    let mut refused: Refused = vec![None; judged.len()];
                    refused.get_mut(at).into_iter().for_each(|place| *place = Some(why.clone()));
                    return Err(refused);
                }
            }
        }
        permits.sort_by_key(|(at, _)| *at);
        if !self.wanted.load(Ordering::Relaxed) {
            self.give_back(permits.into_iter().map(|(_, permit)| permit).collect());
            return Err(vec![Some(Why::of("whoever wanted it is gone")); judged.len()]);
        }
        let commands = judged.into_iter().map(|(command, _)| command);
        Ok(commands.zip(permits.into_iter().map(|(_, permit)| permit)).collect())
    }

    fn permit(
        &self,
        command: &Command,
        push: &GitPush,
        outcome: Outcome,
    ) -> Result<broker::Permit<GitPush>, Why> {
        let context = match outcome {
            Outcome::Ask => self.context(command)?,
            _ => Context::default(),
        };
        let wanted = || self.wanted.load(Ordering::Relaxed);
        let asked = self.broker.request_while(push.clone(), context, &wanted);
        asked.map_err(|refusal| Why::refusal(&refusal))
    }

    /// What a person is shown. What can't be shown is not asked about.
    fn context(&self, command: &Command) -> Result<Context, Why> {
        let Remote { host, repository, .. } = self.remote;
        let (old, new) = (&command.old, &command.new);
        let moves = match (old.is_null(), new.is_null()) {
            (true, _) => format!("new, at {new}"),
            (_, true) => format!("removed, from {old}"),
            _ => format!("from {old} to {new}"),
        };
        let mut notes = vec![format!("remote {host}/{repository}, {}", command.reference), moves];
        if new.is_null() {
            return Ok(Context { notes, ..Context::default() });
        }
        let unshown = |why: &str| Why::of(format!("what it pushes can't be shown: {why}"));
        let shown = match &self.looked {
            Looked::At(quarantine) => quarantine.show(old, new),
            Looked::Unneeded => return Err(unshown("it was not looked at")),
            Looked::TooLarge => return Err(unshown("it is larger than 256 MiB")),
            Looked::Fault(why) => return Err(unshown(why)),
        };
        let shown = shown.map_err(|error| unshown(&error.to_string()))?;
        notes.extend(shown.notes);
        Ok(Context { notes, diff: Some(shown.list), ..Context::default() })
    }

    /// Nothing of these is sent.
    fn give_back(&self, permits: Vec<broker::Permit<GitPush>>) {
        use crate::effect::{PushOutcome, PushResult};
        let result = PushResult { outcome: PushOutcome::NotSent, why: None };
        permits.into_iter().for_each(|permit| drop(self.broker.complete(permit, &result)));
    }
}

/// Reads some more of a body; false if there is no more.
async fn read_more(body: &mut Body<'_>, bytes: &mut Vec<u8>) -> io::Result<bool> {
    bytes.reserve(CHUNK);
    Ok(body.read_buf(bytes).await? > 0)
}

fn split(mut bytes: Vec<u8>, at: usize) -> (Vec<u8>, Vec<u8>) {
    let rest = bytes.split_off(at.min(bytes.len()));
    (bytes, rest)
}

/// Puts what is held and what follows it into a file without a name; true if there is more than is
/// looked at, which stays in `body`.
async fn store(
    store: &Store,
    held: Body<'_>,
    body: &mut Body<'_>,
) -> io::Result<(tokio::fs::File, bool)> {
    let mut file = tokio::fs::File::from_std(store.spool()?);
    let mut from = held.chain(body).take(MOST_STORED);
    let stored = tokio::io::copy(&mut from, &mut file).await?;
    file.flush().await?;
    Ok((file, stored >= MOST_STORED))
}

async fn rewound(mut file: tokio::fs::File) -> io::Result<impl AsyncRead + Send + use<>> {
    file.rewind().await?;
    Ok(file)
}

/// Reads a body to its end, because many clients read no answer before they have sent all.
async fn drain(body: Body<'_>) -> io::Result<()> {
    let mut most = body.take(MOST_DRAINED);
    tokio::io::copy(&mut most, &mut tokio::io::sink()).await?;
    Ok(())
}
