//! What a model is asked: a conversation of parts, and the tools that it may call.

use serde::{Deserialize, Serialize};

use crate::Effort;

/// One request for an answer. It holds the whole conversation; a provider remembers nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The system prompt; empty means none.
    pub system: String,
    /// The tools that may be called, in an order that stays the same (it is part of what providers
    /// cache).
    pub tools: Vec<ToolSpec>,
    /// The conversation so far. It ends with a [`Message::User`].
    pub messages: Vec<Message>,
    /// Most tokens of the answer, reasoning included; without it, the most that the model can.
    pub max_output: Option<u32>,
    /// How much the model should think, where it can be told.
    pub effort: Option<Effort>,
    /// A JSON schema that the answer's text has to fit.
    pub schema: Option<serde_json::Value>,
    /// What tells conversations apart for the provider's cache.
    pub cache_key: Option<String>,
}

/// A tool, as a model is told about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name: `[a-zA-Z0-9_-]`, at most 64 of them, is what every provider takes.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON schema of its arguments, an object.
    pub parameters: serde_json::Value,
}

/// One side's turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// What the person said, and what tools answered.
    User(Vec<Part>),
    /// What the model answered.
    Assistant(Vec<Part>),
}

impl Message {
    /// The parts, whoever said them.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        match self {
            Self::User(parts) | Self::Assistant(parts) => parts,
        }
    }

    /// A text of the person.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(vec![Part::Text(text.into())])
    }
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text(String),
    /// An image, from the person or from a tool.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        media_type: String,
        /// The file's bytes; base64 in JSON.
        #[serde(with = "base64_text")]
        data: Vec<u8>,
    },
    /// A tool that the model wants called; only in an assistant's message.
    ToolCall(ToolCall),
    /// What a tool answered; only in a user's message, and only right after the call.
    ToolResult {
        /// The id of the call.
        call: String,
        /// Texts and images.
        parts: Vec<Part>,
        /// Whether the tool failed.
        failed: bool,
    },
    /// What the model thought; only in an assistant's message.
    Reasoning {
        /// What may be shown of it; may be empty.
        text: String,
        /// What its provider wants back unchanged: a signature, encrypted content. Says which
        /// provider it is from, and goes to no other.
        opaque: Option<serde_json::Value>,
    },
}

/// A tool call, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What the result refers to. The model chose it; nothing says that it is unique.
    pub id: String,
    /// The tool's name. Nothing says that there is such a tool.
    pub name: String,
    /// The arguments as sent. They may be no JSON.
    pub arguments: String,
}

mod base64_text {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(data: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(data))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(from)?).map_err(D::Error::custom)
    }
}
