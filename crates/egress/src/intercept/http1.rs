//! HTTP/1 on a connection that is looked into.
//!
//! No other parser has a say here: heads are read by [`crate::http::wire`], the one that decides
//! everywhere in this gate, and what is sent on is written anew from what it read. A request that a
//! destination could read in another way than Loop therefore can't be sent, with a credential in it
//! or without.

use broker::Leases;

use super::lend::{self, Headers};
use super::used::Used;
use crate::denial::Denial;
use crate::git::Wanted;
use crate::http::serve::Exchange;
use crate::http::wire::{Field, HttpError, RequestHead};
use crate::intercept::Boxed;
use crate::requests::{Admitted, Requests};

/// Decides about each request and lends what it asks for.
pub(super) struct Lending<'a> {
    pub(super) requests: &'a Requests,
    pub(super) leases: &'a Leases,
    pub(super) used: &'a Used,
}

impl Exchange for Lending<'_> {
    fn admit<'a>(
        &'a self,
        head: &'a mut RequestHead,
        wanted: Wanted,
    ) -> Boxed<'a, Result<Admitted, Denial>> {
        Box::pin(async move {
            self.requests.check_head(head).await?;
            let (method, path) = (head.method.clone(), head.path().to_owned());
            let (requests, leases, headers) = (self.requests, self.leases, &mut head.fields);
            let admitted = lend::admit(requests, leases, &method, &path, headers, wanted).await?;
            self.used.note(&admitted);
            Ok(admitted)
        })
    }

    fn done<'a>(&'a self, admitted: Admitted, status: Option<u16>) -> Boxed<'a, ()> {
        Box::pin(self.requests.done(admitted, status))
    }

    fn malformed<'a>(&'a self, why: HttpError, bytes: &'a [u8]) -> Boxed<'a, ()> {
        Box::pin(self.requests.malformed(why, bytes))
    }
}

impl Headers for Vec<Field> {
    fn values(&self, name: &str) -> Vec<String> {
        let named = self.iter().filter(|field| field.is(name));
        named.filter_map(|field| String::from_utf8(field.value.clone()).ok()).collect()
    }

    fn replace(&mut self, name: &str, old: &str, new: &str) {
        for field in self.iter_mut() {
            if field.is(name) && field.value == old.as_bytes() {
                field.value = new.as_bytes().to_vec();
            }
        }
    }

    fn set(&mut self, name: &str, new: &str) {
        self.retain(|field| !field.is(name));
        self.push(Field { name: name.to_owned(), value: new.as_bytes().to_vec() });
    }
}

/// Answers every request with the same denial: the destination could not be reached as it must be.
pub(super) struct Refusing<'a> {
    pub(super) requests: &'a Requests,
    pub(super) denial: &'a Denial,
}

impl Exchange for Refusing<'_> {
    fn admit<'a>(
        &'a self,
        _: &'a mut RequestHead,
        _: Wanted,
    ) -> Boxed<'a, Result<Admitted, Denial>> {
        Box::pin(async { Err(self.denial.clone()) })
    }

    fn done<'a>(&'a self, admitted: Admitted, status: Option<u16>) -> Boxed<'a, ()> {
        Box::pin(self.requests.done(admitted, status))
    }

    fn malformed<'a>(&'a self, why: HttpError, bytes: &'a [u8]) -> Boxed<'a, ()> {
        Box::pin(self.requests.malformed(why, bytes))
    }
}
