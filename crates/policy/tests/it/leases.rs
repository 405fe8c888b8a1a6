//! Leases: who may ask for one, how far it goes, and what it makes of an authority.

use names::{Port, Timestamp};
use policy::{
    Carrier, Destination, Flags, Gate, Library, Outcome, Request, Source, Target, TermsError,
    reach_diff,
};

use crate::support::{
    authority, errors, outcome, request, verdict, with_owner, with_profile, with_project,
};

/// Two leases, and one that can't be read.
struct Purse;

impl Library for Purse {
    fn find(&self, _: &str) -> Result<Option<Source>, String> {
        Ok(None)
    }

    fn lease(&self, name: &str) -> Result<Option<policy::LeaseTerms>, String> {
        let (host, path_prefix) = match name {
            "old" => ("old.example.com", None),
            "anthropic" => ("api.anthropic.com", Some("/v1")),
            "registry" => ("registry.example.com", None),
            "torn" => return Err("not JSON".to_owned()),
            _ => return Ok(None),
        };
        Ok(Some(policy::LeaseTerms {
            id: "1".to_owned(),
            target: Target {
                // As it was kept before plain HTTP was refused.
                ports: Some(match name {
                    "old" => vec![Port::parse("80").unwrap(), Port::HTTPS],
                    _ => vec![Port::HTTPS],
                }),
                ..Destination { host, path_prefixes: path_prefix.as_slice(), ..Default::default() }
                    .target()
                    .unwrap()
            },
            carrier: Carrier::new("x-api-key", None).unwrap(),
            variable: Some("API_KEY".to_owned()),
            until: Some(Timestamp::from_millis(4_000_000_000_000)),
        }))
    }
}

fn lent(text: &str) -> Request<'static> {
    Request { library: &Purse, ..with_profile(text) }
}

#[test]
fn a_lease_is_its_terms_narrowed() {
    let text = "[[lease]]\nname = \"anthropic\"\nmethods = [\"POST\"]\n\
                path_prefix = \"/v1/messages\"\nenv = \"KEY\"\nfor = \"8h\"\n";
    let authority = authority(lent(text));
    let shown: Vec<_> = authority.leases.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(shown.join("\n"), @"anthropic api.anthropic.com:443 POST /v1/messages/** in x-api-key as KEY until 2096-10-02T07:06:40.000Z for 8h");
    assert_eq!(
        authority.needs().iter().map(|n| n.gate).collect::<Vec<_>>(),
        [Gate::Egress, Gate::Lease]
    );
}

#[test]
fn it_makes_its_destination_reachable_and_nothing_else() {
    let authority = authority(lent("[[lease]]\nname = \"anthropic\"\n"));
    for yes in [
        "lease anthropic api.anthropic.com",
        "connect api.anthropic.com",
        "resolve api.anthropic.com",
        "http POST api.anthropic.com/v1/messages",
    ] {
        assert_eq!(outcome(&authority, yes), Outcome::Allow, "{yes}");
    }
    for no in [
        "lease anthropic api.anthropic.com:8443",
        "lease anthropic evil.example.com",
        "lease registry registry.example.com",
        "http POST api.anthropic.com/v2",
        "http POST api.anthropic.com/v1/../admin",
        "connect api.anthropic.com:80",
    ] {
        assert_eq!(outcome(&authority, no), Outcome::Deny, "{no}");
    }
    insta::assert_snapshot!(
        verdict(&authority, "lease anthropic api.anthropic.com")
            .explain(&crate::support::action("lease anthropic api.anthropic.com"))
    );
    insta::assert_snapshot!(
        verdict(&authority, "lease registry registry.example.com")
            .explain(&crate::support::action("lease registry registry.example.com"))
    );
}

/// What the verdict tells to add does allow the lending when it is added.
#[test]
fn its_remedy_works() {
    let asked = "lease registry registry.example.com";
    let remedy = verdict(&authority(lent("")), asked).remedy.unwrap();
    let (_, added) = remedy.split_once(" with ").unwrap();
    let after = authority(lent(&added.replace("] ", "]\n")));
    assert_eq!(outcome(&after, asked), Outcome::Allow, "{added}");
}

#[test]
fn it_lifts_no_cap() {
    let lease = "[[lease]]\nname = \"anthropic\"\n";
    let capped = "[[network]]\nhost = \"api.anthropic.com\"\nmax_bytes = \"1MiB\"\n";
    let caps = |text: &str| -> Vec<Option<String>> {
        let network = authority(lent(text)).network;
        network.iter().map(|grant| grant.max_bytes.map(|cap| cap.to_string())).collect()
    };
    assert_eq!(caps(lease), [None]);
    let cap = Some("1MiB".to_owned());
    assert_eq!(caps(&format!("{lease}{capped}")), [cap.clone(), cap]);
}

#[test]
fn a_denial_and_a_question_hold_over_a_lease() {
    let lease = "[[lease]]\nname = \"anthropic\"\n[[rule]]\naction = \"lease\"\nverdict = ";
    for (verdict, expected) in [("deny", Outcome::Deny), ("ask", Outcome::Ask)] {
        let authority = authority(lent(&format!("{lease}\"{verdict}\"\n")));
        assert_eq!(outcome(&authority, "lease anthropic api.anthropic.com"), expected);
    }
    let owner = "[[rule]]\naction = \"lease\"\nlease = \"anthropic\"\nverdict = \"deny\"\n";
    let owned = with_owner(lent("[[lease]]\nname = \"anthropic\"\n"), owner);
    assert_eq!(outcome(&authority(owned), "lease anthropic api.anthropic.com"), Outcome::Deny);
}

#[test]
fn each_who_asks_narrows() {
    let owner = "[[lease]]\nname = \"anthropic\"\nmethods = [\"GET\", \"POST\"]\nfor = \"1h\"\n";
    let text = "[[lease]]\nname = \"anthropic\"\nmethods = [\"POST\", \"PUT\"]\nfor = \"8h\"\n";
    let flags =
        Flags { leases: vec!["anthropic".to_owned(), "registry".to_owned()], ..Flags::default() };
    let owned = |flags| Request { flags, ..with_owner(lent(text), owner) };
    let wrong = errors(owned(flags.clone()));
    assert!(wrong.to_string().contains("API_KEY"), "{wrong}");
    let flags = Flags { leases: vec!["anthropic".to_owned()], ..flags };
    let authority = authority(owned(flags));
    assert_eq!(authority.leases.len(), 1);
    let lease = &authority.leases[0];
    assert_eq!(lease.target.to_string(), "api.anthropic.com:443 POST /v1/**");
    assert_eq!(lease.lasts.unwrap().to_string(), "1h");
}

#[test]
fn a_flag_asks_for_a_lease_as_its_terms_say() {
    let flags = Flags { leases: vec!["registry".to_owned()], ..Flags::default() };
    let authority = authority(Request { library: &Purse, flags, ..request("offline") });
    assert_eq!(outcome(&authority, "lease registry registry.example.com"), Outcome::Allow);
    let diff = reach_diff(&crate::support::authority(request("offline")), &authority);
    insta::assert_snapshot!(diff);
}

#[test]
fn a_project_asks_for_none() {
    let told = errors(with_project(lent(""), "[[lease]]\nname = \"anthropic\"\n"));
    insta::assert_snapshot!(told);
}

#[test]
fn what_is_wrong_is_told() {
    let text = r#"
        [[lease]]
        name = "nobodys"
        [[lease]]
        name = "torn"
        [[lease]]
        name = "Anthropic"
        [[lease]]
        name = "anthropic"
        host = "evil.example.com"
        [[lease]]
        name = "registry"
        ports = [8443]
        [[lease]]
        name = "anthropic"
        path_prefix = "v1"
        [[lease]]
        name = "anthropic"
        env = "A-B"
        for = "soon"
        [[lease]]
        name = "anthropic"
        host = "*.anthropic.com"
    "#;
    insta::assert_snapshot!(errors(lent(text)));
    let twice = "[[lease]]\nname = \"anthropic\"\n[[lease]]\nname = \"registry\"\n";
    insta::assert_snapshot!(errors(lent(twice)));
}

#[test]
fn no_credential_goes_out_in_clear_text() {
    let ports = |ports| Destination { host: "a.example.com", ports, ..Default::default() }.target();
    assert_eq!(ports(&[443, 80]), Err(TermsError::ClearText));
    assert!(ports(&[8080, 443]).is_ok());
    insta::assert_snapshot!(errors(lent("[[lease]]\nname = \"old\"\n")), @r"
    test.toml:1: lease: port 80 is plain HTTP, where a credential would go out in clear text
      fix: name ports where the host takes TLS
    ");
    let narrowed = authority(lent("[[lease]]\nname = \"old\"\nports = [443]\n"));
    assert_eq!(outcome(&narrowed, "lease old old.example.com:80"), Outcome::Deny);
}

#[test]
fn an_authority_without_leases_is_what_it_was() {
    let offline = authority(request("offline"));
    let json = serde_json::to_value(&offline).unwrap();
    assert!(json.get("leases").is_none());
    let lent = authority(lent("[[lease]]\nname = \"anthropic\"\n"));
    let bytes = names::canonical::to_vec(&lent).unwrap();
    assert_eq!(names::canonical::parse::<policy::Authority>(&bytes).unwrap(), lent);
}
