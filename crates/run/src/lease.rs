//! Credentials that the person lends to runs.
//!
//! What is kept is a reference: where the value comes from, and the farthest it may go. The value
//! is read when a run begins, stays in this process, and goes with the run. A source that gives
//! none stops the run before it starts. Inside there is a placeholder; no variable that a value
//! came from, or that holds one, is passed.

mod lend;
mod offer;
mod source;
mod store;

use api::{LeaseAddRequest, LeaseRevokeRequest, LeaseView, Problem, exit};
use names::{Secret, Span, Timestamp};
use policy::{Carrier, Destination, LeaseTerms, Target, TermsError};

use crate::login;
use crate::problem::OrProblem as _;
use crate::settings::Settings;

pub(crate) use lend::{Lending, Withheld, leave_no_dump};
pub(crate) use offer::Offer;
pub(crate) use store::{Stored, terms};

use source::Source;
pub(crate) use source::keyring;
use store::SCHEMA;

/// `loop lease add`.
///
/// # Errors
/// What is wrong with the request; that there is a lease of that name.
pub(crate) fn add(settings: &Settings, request: &LeaseAddRequest) -> Result<LeaseView, Problem> {
    let added = (settings.clock)();
    let source = Source::parse(&request.from, &settings.directory)?;
    // What comes from a variable is where programs look for it.
    let variable = request.env.as_deref().or(source.variable());
    let terms = asked(request, variable, added)?;
    let stored = Stored { schema: SCHEMA, name: store::name(&request.name)?, terms, source, added };
    store::add(settings, &stored)?;
    Ok(stored.view(added))
}

/// The key that `loop login` keeps of a provider, if it does.
///
/// # Errors
/// What is wrong with its file or the keyring.
pub(crate) fn kept_key(
    settings: &Settings,
    provider: &str,
) -> Result<Option<Secret<String>>, Problem> {
    let path = login::file(settings, provider);
    if !path.exists() {
        return Ok(None);
    }
    let source = Source::Login { provider: provider.to_owned() };
    match source.read(settings) {
        Ok(value) => Ok(Some(Secret::new(value.expose().to_string()))),
        Err(error) => {
            let what = format!("the key of {provider}, {}: {error}", path.display());
            Err(Problem::new(exit::UNSAFE, what).with_next(error.next()))
        }
    }
}

/// A lease that nobody keeps: of a variable of this process, or of the key that `loop login` keeps
/// of a provider. Inside, the variable holds the placeholder.
///
/// # Errors
/// When no random bytes are to be had.
pub(crate) fn of_key(
    settings: &Settings,
    name: &str,
    variable: &str,
    login: Option<&str>,
    target: Target,
    carrier: Carrier,
) -> Result<Stored, Problem> {
    let id = store::fresh_id()?;
    let inside = Some(variable.to_owned());
    let terms = LeaseTerms { id, target, carrier, variable: inside, until: None };
    let source = match login {
        Some(provider) => Source::Login { provider: provider.to_owned() },
        None => Source::Env { variable: variable.to_owned() },
    };
    let (name, added) = (name.to_owned(), (settings.clock)());
    Ok(Stored { schema: SCHEMA, name, terms, source, added })
}

fn asked(
    request: &LeaseAddRequest,
    variable: Option<&str>,
    added: Timestamp,
) -> Result<LeaseTerms, Problem> {
    let prefix = request.path_prefix.as_deref();
    let destination = Destination {
        host: &request.host,
        ports: &request.ports,
        path_prefixes: prefix.as_slice(),
        methods: &request.methods,
    };
    let wrong = |error: TermsError| Problem::new(exit::USAGE, error.to_string());
    let lasts = request.lasts.as_deref().map(Span::parse).transpose().or_problem()?;
    Ok(LeaseTerms {
        id: store::fresh_id()?,
        target: destination.target().map_err(wrong)?,
        carrier: match &request.basic {
            Some(user) => Carrier::basic(user),
            None => Carrier::new(&request.header, request.scheme.as_deref()),
        }
        .map_err(wrong)?,
        variable: variable.map(policy::variable).transpose().map_err(wrong)?,
        until: lasts.map(|span| after(added, span)),
    })
}

/// So much later.
pub(crate) fn after(start: Timestamp, span: Span) -> Timestamp {
    let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(start.as_millis().saturating_add(millis))
}

/// `loop lease list`, by name.
///
/// # Errors
/// When one can't be read.
pub(crate) fn list(settings: &Settings) -> Result<Vec<LeaseView>, Problem> {
    let now = (settings.clock)();
    Ok(store::all(settings)?.iter().map(|stored| stored.view(now)).collect())
}

/// `loop lease revoke`. Runs that have it lose it within a second.
///
/// # Errors
/// When there is none of that name.
pub(crate) fn revoke(
    settings: &Settings,
    request: &LeaseRevokeRequest,
) -> Result<LeaseView, Problem> {
    Ok(store::remove(settings, &request.name)?.view((settings.clock)()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::World;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn request(from: &str) -> LeaseAddRequest {
        LeaseAddRequest {
            name: "anthropic".to_owned(),
            host: "api.anthropic.com".to_owned(),
            header: "x-api-key".to_owned(),
            env: Some("ANTHROPIC_API_KEY".to_owned()),
            from: from.to_owned(),
            ..LeaseAddRequest::default()
        }
    }

    #[test]
    fn a_placeholder_is_in_the_variable_that_the_value_comes_from_unless_another_is_named() {
        let world = World::new();
        for (from, env, inside) in [
            ("env:KEY", None, Some("KEY")),
            ("env:KEY", Some("TOKEN"), Some("TOKEN")),
            ("file:key", None, None),
        ] {
            let env = env.map(str::to_owned);
            let made = add(&world.settings, &LeaseAddRequest { env, ..request(from) }).unwrap();
            assert_eq!(made.env.as_deref(), inside, "{from}");
            let name = "anthropic".to_owned();
            revoke(&world.settings, &LeaseRevokeRequest { name }).unwrap();
        }
    }

    #[test]
    fn a_lease_is_kept_in_private_as_a_reference() {
        let mut world = World::new();
        world.settings.environment.insert("KEY".into(), "canary-value".into());
        let made = add(&world.settings, &request("env:KEY")).unwrap();
        assert_eq!(made.destination, "api.anthropic.com:443");
        assert_eq!((made.from.as_str(), made.until), ("env:KEY", None));
        let file = world.settings.homes.config.join("leases/anthropic.json");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!fs::read_to_string(&file).unwrap().contains("canary-value"));
        assert_eq!(list(&world.settings).unwrap(), std::slice::from_ref(&made));
        let again = add(&world.settings, &request("env:OTHER")).unwrap_err();
        assert!(again.what.contains("anthropic"), "{again:?}");
        let gone = revoke(&world.settings, &LeaseRevokeRequest { name: "anthropic".to_owned() });
        assert_eq!(gone.unwrap(), made);
        assert_eq!(list(&world.settings).unwrap(), []);
        let none = revoke(&world.settings, &LeaseRevokeRequest { name: "anthropic".to_owned() });
        assert_eq!(none.unwrap_err().code, exit::NOT_FOUND);
    }

    #[test]
    fn what_makes_no_sense_is_refused_before_it_is_kept() {
        let world = World::new();
        for (wrong, told) in [
            (LeaseAddRequest { name: "../x".into(), ..request("env:K") }, "name"),
            (LeaseAddRequest { host: "*.example.com".into(), ..request("env:K") }, "one host"),
            (LeaseAddRequest { header: "host".into(), ..request("env:K") }, "header"),
            (LeaseAddRequest { methods: vec!["CONNECT".into()], ..request("env:K") }, "CONNECT"),
            (LeaseAddRequest { env: Some("A=B".into()), ..request("env:K") }, "variable"),
            (LeaseAddRequest { lasts: Some("soon".into()), ..request("env:K") }, "soon"),
            (request("K"), "env:VAR"),
            (request("env:"), "env:VAR"),
            (request("command:'unclosed"), "quote"),
        ] {
            let problem = add(&world.settings, &wrong).unwrap_err();
            assert!(problem.what.contains(told), "{problem:?}");
        }
        assert_eq!(list(&world.settings).unwrap(), []);
    }

    #[test]
    fn a_lease_that_others_could_have_written_is_refused() {
        let world = World::new();
        add(&world.settings, &request("env:KEY")).unwrap();
        let file = world.settings.homes.config.join("leases/anthropic.json");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(list(&world.settings).is_err());
        assert!(terms(&world.settings, "anthropic").is_err());
    }
}
