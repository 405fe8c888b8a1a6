//! `docs/receipt.schema.json` says the same as the reader: what is one member too many or too few
//! for the one is so for the other.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use boon::{Compiler, SchemaIndex, Schemas};
use ledger::{CheckedReceipt, ReceiptError};
use serde_json::{Map, Value, json};

use crate::cases::statement;
use crate::forge::{bytes_of, envelope, key};
use crate::vectors::{cases, directory};

const PLACE: &str = "https://loop.dev/receipt/v1/schema.json";

struct Schema {
    schemas: Schemas,
    statement: SchemaIndex,
    envelope: SchemaIndex,
}

impl Schema {
    fn read() -> Self {
        let text = include_str!("../../../../docs/receipt.schema.json");
        let mut compiler = Compiler::new();
        compiler.add_resource(PLACE, serde_json::from_str(text).unwrap()).unwrap();
        let mut schemas = Schemas::new();
        let statement = compiler.compile(PLACE, &mut schemas).unwrap();
        let envelope = format!("{PLACE}#/$defs/envelope");
        let envelope = compiler.compile(&envelope, &mut schemas).unwrap();
        Self { schemas, statement, envelope }
    }

    fn fits_statement(&self, value: &Value) -> bool {
        self.schemas.validate(value, self.statement).is_ok()
    }

    fn fits_envelope(&self, value: &Value) -> bool {
        self.schemas.validate(value, self.envelope).is_ok()
    }
}

/// Is it a statement for the reader?
fn reads(statement: &Value) -> bool {
    let envelope = bytes_of(&envelope(&bytes_of(statement), &key(1)));
    match CheckedReceipt::parse(&envelope) {
        Ok(_) => true,
        Err(ReceiptError::NotAStatement { .. } | ReceiptError::UnknownSchema { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

/// A statement in which nothing that may be there is absent.
fn full() -> Value {
    let mut full = statement();
    let facts = &mut full["predicate"];
    facts["base"] = json!({"commit": "0123", "dirty": false});
    facts["leases"] = json!([
        {"name": "npm", "destination": "registry.npmjs.org", "expires": facts["ended"]}
    ]);
    facts["approvals"] = json!([
        {"record": 3, "action": facts["authority"], "scope": "once", "by": "ann (terminal)"}
    ]);
    facts["egress"] =
        json!([{"host": "a.example", "port": 443, "connections": 1, "sent": 2, "received": 3}]);
    facts["denials"] = json!({"connect": 1});
    facts["learned"] = json!({"exec": 2});
    facts["budget"] = json!({
        "wallMs": 1, "cpuMs": 2, "memory": 3, "output": 4, "steps": 5, "tokens": 6,
    });
    facts["models"] = json!([{"provider": "anthropic", "name": "x"}]);
    facts["omissions"] = json!(["one thing"]);
    facts["follows"] =
        json!({"relation": "continues", "run": facts["run"], "receipt": facts["authority"]});
    let ran = json!({"passed": true, "exit": 0, "output": facts["authority"]});
    let mut check = ran.clone();
    check["name"] = "test".into();
    check["command"] = "make test".into();
    check["base"] = ran;
    check["preExisting"] = false.into();
    facts["checks"] = json!([check]);
    facts["verification"] = json!({
        "contract": facts["authority"], "changes": facts["authority"], "round": 1,
        "criteria": [{"id": "c", "checks": ["test"], "met": true}],
        "held": ["a"], "leftOut": ["b"], "usedIgnored": ["c"],
        "flags": [{"path": "Makefile", "line": 3, "why": "it steers the checks"}],
        "review": {"provider": "p", "name": "n", "veto": false, "reason": "r"},
    });
    full
}

/// The place of every object below `value`, as JSON pointers.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.push(at.to_owned());
            members.iter().for_each(|(name, one)| objects(one, &format!("{at}/{name}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, one)| objects(one, &format!("{at}/{n}"), found));
        }
        _ => {}
    }
}

fn members<'a>(value: &'a mut Value, at: &str) -> &'a mut Map<String, Value> {
    value.pointer_mut(at).unwrap().as_object_mut().unwrap()
}

/// Objects whose members have no fixed names.
fn is_open(at: &str) -> bool {
    at.starts_with("/predicate/enforcement")
        || ["/predicate/denials", "/predicate/learned"].contains(&at)
}

#[test]
fn a_member_too_many_or_too_few_is_one_for_both() {
    let (schema, full) = (Schema::read(), full());
    assert!(schema.fits_statement(&full) && reads(&full));
    let mut places = Vec::new();
    objects(&full, "", &mut places);
    places.retain(|at| !is_open(at));
    assert_eq!(places.len(), 20, "{places:?}");
    let (mut refused, mut optional) = (0, Vec::new());
    for at in &places {
        let mut more = full.clone();
        members(&mut more, at).insert("unheard".to_owned(), Value::Null);
        assert!(!schema.fits_statement(&more) && !reads(&more), "one more at {at}");
        for name in members(&mut full.clone(), at).keys() {
            let mut fewer = full.clone();
            members(&mut fewer, at).remove(name);
            let mut empty = full.clone();
            members(&mut empty, at).insert(name.clone(), Value::Null);
            let mut other = full.clone();
            members(&mut other, at).insert(name.clone(), json!([[]]));
            for (statement, how) in [(&fewer, "without"), (&empty, "null"), (&other, "other")] {
                let place = format!("{how}: {at}/{name}");
                assert_eq!(schema.fits_statement(statement), reads(statement), "{place}");
            }
            match reads(&fewer) {
                false => refused += 1,
                true => optional.push(format!("{at}/{name}")),
            }
        }
    }
    assert!(refused > 60, "{refused}");
    insta::assert_snapshot!(optional.join("\n"), @"
    /predicate/exit
    /predicate/follows
    /predicate/learned
    /predicate/verification
    /predicate/base/commit
    /predicate/base/dirty
    /predicate/budget/cpuMs
    /predicate/budget/memory
    /predicate/budget/output
    /predicate/budget/steps
    /predicate/budget/tokens
    /predicate/checks/0/base
    /predicate/checks/0/exit
    /predicate/checks/0/base/exit
    /predicate/verification/review
    /predicate/verification/flags/0/line
    ");
}

/// What a reader takes fits the schema, and what it refuses for its members does not.
#[test]
fn every_vector_fits_or_not_as_it_is_read() {
    let schema = Schema::read();
    let mut seen = (0, 0);
    for case in cases().iter().filter(|case| case.get("receipt").is_some()) {
        let bytes = std::fs::read(directory().join(case["receipt"].as_str().unwrap())).unwrap();
        let form = case["expect"]["form"].as_str().unwrap();
        let Ok(envelope) = serde_json::from_slice::<Value>(&bytes) else { continue };
        let payload = envelope["payload"].as_str().and_then(|text| STANDARD.decode(text).ok());
        let statement = payload.and_then(|payload| serde_json::from_slice(&payload).ok());
        let statement: Value = statement.unwrap_or_default();
        let of_subjects = case["expect"]["subjects"].as_str().unwrap_or_default();
        match form {
            "holds" | "from-the-future" => {
                seen.0 += 1;
                assert!(schema.fits_envelope(&envelope), "{}", case["name"]);
                let fits = schema.fits_statement(&statement);
                // Which subjects there are is no question of form to the reader.
                assert_eq!(fits, !of_subjects.starts_with("subject-"), "{}", case["name"]);
            }
            "not-an-envelope" | "payload-type" => {
                seen.1 += 1;
                assert!(!schema.fits_envelope(&envelope), "{}", case["name"]);
            }
            "not-a-statement" | "unknown-schema" => {
                seen.1 += 1;
                assert!(!schema.fits_statement(&statement), "{}", case["name"]);
            }
            _ => {}
        }
    }
    assert!(seen.0 > 40 && seen.1 > 5, "{seen:?}");
}
