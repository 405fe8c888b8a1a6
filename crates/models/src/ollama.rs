//! Which models a local Ollama has.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use crate::base::Base;
use crate::find::{Lookup, State, Usable, ollama_place};
use crate::transport::{Broken, Post, Timeouts, Transport};
use crate::wire::text;

/// How long to wait for it: it is on this machine, or not there.
const MOMENT: Duration = Duration::from_millis(500);
/// Largest list that is read, in bytes.
const LARGEST: usize = 4 << 20;

/// Its models, or one entry that says why there are none.
pub(crate) fn usable(lookup: Lookup<'_>) -> Vec<Usable> {
    let place = ollama_place(lookup);
    let missing = |why: String, help: &str| {
        let state = State::Missing { why, help: help.to_owned() };
        vec![Usable { id: "ollama:NAME".to_owned(), state }]
    };
    match list(&place) {
        Ok(names) if names.is_empty() => {
            missing(format!("{place} has no models"), "run `ollama pull NAME`")
        }
        Ok(names) => {
            let entry = |name| Usable { id: format!("ollama:{name}"), state: State::Available };
            names.into_iter().map(entry).collect()
        }
        Err(why) => missing(why, "start Ollama, or set OLLAMA_HOST"),
    }
}

fn list(place: &str) -> Result<Vec<String>, String> {
    let base = Base::parse(place).map_err(|error| error.to_string())?;
    let timeouts = Timeouts { connect: MOMENT, first: MOMENT, idle: MOMENT };
    let transport =
        Transport::new(base, None, None, timeouts).map_err(|error| error.to_string())?;
    let post = Post {
        path: "/api/tags".to_owned(),
        headers: Vec::new(),
        authorization: None,
        body: Bytes::new(),
    };
    let body = transport.run(async {
        let mut reply = transport.post(&post).await?;
        reply.all(transport.timeouts(), LARGEST).await
    });
    let body = body.and_then(|read: Result<_, Broken>| read).map_err(|error| error.to_string())?;
    let list: Value = serde_json::from_slice(&body).map_err(|_| format!("{place} is no Ollama"))?;
    let models = list.get("models").and_then(Value::as_array).into_iter().flatten();
    Ok(models.map(|model| names::printable(text(model, "/name").as_bytes())).collect())
}
