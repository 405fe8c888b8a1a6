//! Conversations with the scripted model that people can play too.

use api::event::{End, Fault, ModelFault};
use models::script::Script;
use models::{Model as _, Scripted};

use crate::world::{Fake, World};

fn played(script: &str) -> World {
    let scripted = Scripted::new(Script::parse(script).unwrap());
    World::new(Fake::new(move |request, cancel, sink| scripted.answer(request, cancel, sink)))
}

#[test]
fn a_script_finds_and_fixes_and_is_refused() {
    let mut world = played(
        r#"
        name = "fix"

        [[turn]]
        expect = { last = "make the tests pass", tools = "bash", system = "sandbox" }
        call = [
            { name = "bash", arguments = { command = "make test" } },
            { name = "read", arguments = { path = "sum.py" } },
            { name = "send_mail", raw = "{" },
        ]

        [[turn]]
        expect = { anywhere = "there is no tool", results = 3 }
        call = [{ name = "edit", arguments = { path = "sum.py", edits = [{ old = "-", new = "+" }] } }]

        [[turn]]
        fault = { kind = "disconnect" }
        text = "Fixed."

        [[turn]]
        text = "Fixed."
        "#,
    );
    world.desk.files.insert("sum.py".into(), "a - b".into());
    let end = world.turn("make the tests pass").end;
    assert_eq!(world.desk.files["sum.py"], "a + b", "{end:?}");
    assert_eq!(end, End::Finished("Fixed.".into()));
}

#[test]
fn a_script_that_does_not_match_is_named() {
    let end =
        played("name = \"x\"\n[[turn]]\nexpect = { last = \"something else\" }").turn("go").end;
    assert!(matches!(end, End::Failed(Fault::Model { kind: ModelFault::Script, .. })), "{end:?}");
}
