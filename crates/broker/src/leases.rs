//! Credentials lent to one run.
//!
//! Inside the sandbox there is a placeholder. The network gate finds it in a request, and swaps it
//! for the value only while it holds a `Permit<Lease>`: the value can't be had without one. Values
//! are in memory of the control plane alone. They have no `Debug`, no serialisation, no way into a
//! record; a lease that ended has none any more.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use names::{Clock, Host, Port, Secret, Timestamp, redact_with};
use policy::{Carrier, Http, Lease, LeaseGrant};
use zeroize::Zeroizing;

use crate::permit::Permit;

/// The value of a credential; its memory is cleared when it goes.
pub type Credential = Secret<Zeroizing<String>>;

/// How a placeholder begins. It must not be taken for a credential by whoever reads it.
const PLACEHOLDER: &str = "loop-lease-";

/// One credential, to be lent.
pub struct Loan {
    /// What for.
    pub grant: LeaseGrant,
    /// The credential.
    pub value: Credential,
    /// What makes its placeholder one that nobody guesses.
    pub random: [u8; 16],
}

/// Why a lease gives no credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// The permit is for no lease of this run, or for another destination than the lease's.
    #[error("the lease is not for this destination")]
    Elsewhere,
    /// Its time is over.
    #[error("the lease has expired")]
    Expired,
    /// It was taken back, or the run has ended.
    #[error("the lease was revoked")]
    Revoked,
}

/// The leases of one run. Clones are the same leases.
#[derive(Clone, Default)]
pub struct Leases {
    lent: Arc<[Lent]>,
    clock: Option<Clock>,
}

/// One lease of a run.
pub struct Lent {
    grant: LeaseGrant,
    placeholder: String,
    until: Option<Timestamp>,
    /// Gone when it was revoked.
    value: Mutex<Option<Credential>>,
}

impl Leases {
    /// Lends credentials to a run that started at `started`.
    #[must_use]
    pub fn lend(loans: Vec<Loan>, started: Timestamp, clock: Clock) -> Self {
        let lent = loans.into_iter().map(|loan| Lent::new(loan, started));
        Self { lent: lent.collect(), clock: Some(clock) }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lent.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Lent> {
        self.lent.iter()
    }

    /// Whether a credential may go to this host and port, so that requests there must be looked at.
    #[must_use]
    pub fn concern(&self, host: &Host, port: Port) -> bool {
        self.lent.iter().any(|lent| lent.is_for(host, port))
    }

    /// The lease whose placeholder this is, exactly.
    #[must_use]
    pub fn find(&self, placeholder: &str) -> Option<&Lent> {
        self.lent.iter().find(|lent| lent.placeholder == placeholder)
    }

    /// Whether the lease of this name still gives its credential, or why not.
    pub fn live(&self, name: &str) -> Result<(), LeaseError> {
        let lent = self.lent.iter().find(|lent| lent.grant.name == name);
        let lent = lent.ok_or(LeaseError::Elsewhere)?;
        let live = lent.value().is_some();
        self.expiry(lent)?;
        if live { Ok(()) } else { Err(LeaseError::Revoked) }
    }

    /// Gives the credential to `use_it`, for what `permit` is for and nothing else.
    pub fn with_value<T>(
        &self,
        permit: &Permit<Lease>,
        use_it: impl FnOnce(&str) -> T,
    ) -> Result<T, LeaseError> {
        let act = permit.act();
        let named = self.lent.iter().find(|lent| lent.grant.name == act.name);
        let lent = named.filter(|lent| lent.is_for(&act.host, act.port));
        let lent = lent.ok_or(LeaseError::Elsewhere)?;
        self.expiry(lent)?;
        let value = lent.value();
        value.as_ref().map(|value| use_it(value.expose())).ok_or(LeaseError::Revoked)
    }

    /// Takes the lease of this name back; its value is cleared. `false` if there is none, or none
    /// any more.
    pub fn revoke(&self, name: &str) -> bool {
        let named = self.lent.iter().find(|lent| lent.grant.name == name);
        named.is_some_and(|lent| lent.value().take().is_some())
    }

    /// Takes all of them back: the run has ended.
    pub fn end(&self) {
        for lent in self.lent.iter() {
            lent.value().take();
        }
    }

    /// The text without the values of these leases, and without what has the shape of a secret.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        let held: Vec<_> = self.lent.iter().map(Lent::value).collect();
        let values = held.iter().filter_map(|value| value.as_ref());
        let values: Vec<&str> = values.map(|value| value.expose().as_str()).collect();
        redact_with(text, &values).into_owned()
    }

    fn expiry(&self, lent: &Lent) -> Result<(), LeaseError> {
        match (lent.until, self.clock) {
            (Some(until), Some(clock)) if clock() >= until => Err(LeaseError::Expired),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Leases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lent.iter()).finish()
    }
}

impl Lent {
    fn new(loan: Loan, started: Timestamp) -> Self {
        let Loan { grant, value, random } = loan;
        let random = random.iter().map(|byte| format!("{byte:02x}"));
        let random: String = random.collect();
        let lasts = grant.lasts.map(|span| {
            let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
            Timestamp::from_millis(started.as_millis().saturating_add(millis))
        });
        Self {
            placeholder: format!("{PLACEHOLDER}{}-{random}", grant.name),
            until: lasts.into_iter().chain(grant.until).min(),
            value: Mutex::new(Some(value)),
            grant,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.grant.name
    }

    /// What it is for.
    #[must_use]
    pub fn grant(&self) -> &LeaseGrant {
        &self.grant
    }

    /// The header that carries it.
    #[must_use]
    pub fn carrier(&self) -> &Carrier {
        &self.grant.carrier
    }

    /// What stands for it inside, and the variable that holds that.
    #[must_use]
    pub fn placeholder(&self) -> &str {
        &self.placeholder
    }

    /// The variable that holds the placeholder inside.
    #[must_use]
    pub fn variable(&self) -> Option<&str> {
        self.grant.variable.as_deref()
    }

    /// When it ends by itself.
    #[must_use]
    pub fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// What to ask the broker for, if the credential is for this request.
    #[must_use]
    pub fn act(&self, http: &Http) -> Option<Lease> {
        let (host, port) = (http.host.clone(), http.port);
        self.grant.covers(http).then(|| Lease { name: self.grant.name.clone(), host, port })
    }

    fn is_for(&self, host: &Host, port: Port) -> bool {
        let ports = self.grant.target.ports.as_ref();
        self.grant.target.host.matches(host) && ports.is_none_or(|ports| ports.contains(&port))
    }

    fn value(&self) -> MutexGuard<'_, Option<Credential>> {
        // Whoever held it did nothing that could leave it half changed.
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent")
            .field("grant", &self.grant)
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Loan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loan").field("grant", &self.grant).finish_non_exhaustive()
    }
}
