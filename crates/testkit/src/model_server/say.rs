//! What a play of a script is in each format.
#![expect(clippy::indexing_slicing, reason = "on an object of serde_json, an index adds a member")]

mod chat;
mod messages;
mod responses;

use models::script::{FaultKind, Play};
use serde_json::{Value, json};

use super::Format;
use super::speech::Frame;

/// The events of a streamed answer.
pub(super) fn frames(format: Format, model: &str, play: &Play) -> Vec<Frame> {
    match format {
        Format::Messages => messages::frames(model, play),
        Format::Responses => responses::frames(model, play),
        Format::Chat => chat::frames(model, play),
    }
}

/// An answer in one piece.
pub(super) fn whole(format: Format, model: &str, play: &Play) -> Value {
    match format {
        Format::Messages => messages::whole(model, play),
        Format::Responses => responses::whole(model, play, "completed"),
        Format::Chat => chat::whole(model, play),
    }
}

/// The body of a refusal.
pub(super) fn error(format: Format, kind: &str, text: &str) -> Value {
    let error = json!({ "type": kind, "code": kind, "message": text });
    match format {
        Format::Messages => json!({ "type": "error", "error": error }),
        Format::Responses | Format::Chat => json!({ "error": error }),
    }
}

/// An event that says that the provider is overloaded.
pub(super) fn error_frame(format: Format) -> Frame {
    match format {
        Format::Messages => Frame::named(&error(format, "overloaded_error", "Overloaded")),
        Format::Responses => {
            let error = json!({ "code": "server_error", "message": "Overloaded" });
            let response = json!({ "id": "resp_1", "status": "failed", "error": error });
            let event = json!({ "type": "response.failed", "response": response });
            Frame::named(&event)
        }
        Format::Chat => Frame::data(&error(format, "server_error", "Overloaded")),
    }
}

fn has(play: &Play, kind: FaultKind) -> bool {
    play.fault.is_some_and(|fault| fault.kind == kind)
}
