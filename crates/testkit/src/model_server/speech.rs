//! Pieces of what is said.

use serde_json::Value;

/// One event of a stream, as bytes.
#[derive(Clone)]
pub(super) struct Frame(Vec<u8>);

impl Frame {
    pub(super) fn raw(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }

    /// An event whose name is its type.
    pub(super) fn named(data: &Value) -> Self {
        let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
        Self::raw(&format!("event: {name}\ndata: {data}\n\n"))
    }

    pub(super) fn data(data: &Value) -> Self {
        Self::raw(&format!("data: {data}\n\n"))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn halve(&mut self) {
        self.0.truncate(self.0.len() / 2);
    }
}

/// A text in pieces of a few characters.
pub(super) fn pieces(text: &str) -> Vec<String> {
    const EACH: usize = 8;
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(EACH).map(|piece| piece.iter().collect()).collect()
}
