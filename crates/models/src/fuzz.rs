//! Entry points of the fuzz targets and of the tests that replay their corpus: hostile bytes in,
//! a panic if a promise of this crate does not hold.

use crate::Request;
use crate::anthropic::Anthropic;
use crate::chat::Chat;
use crate::known::Known;
use crate::openai::OpenAi;
use crate::sse::{Decoder, Message};
use crate::wire::{Reader, Wire};

/// Events are the same however the bytes are cut, and every provider makes an answer or an error
/// of them.
pub fn fuzz_sse(data: &[u8]) {
    let whole = decode(data, data.len());
    for step in [1, 2, 7] {
        assert_eq!(decode(data, step), whole);
    }
    let request = Request::default();
    let known = Known::default();
    let readers: [Box<dyn Reader>; 3] = [
        Anthropic::new("claude", known.clone()).reader(&request),
        OpenAi::new("gpt", known).reader(&request),
        Chat::new("openai-compatible", "model").reader(&request),
    ];
    for reader in readers {
        read(reader, &whole);
    }
}

fn decode(data: &[u8], step: usize) -> Vec<Message> {
    const LIMIT: usize = 1 << 20;
    let mut decoder = Decoder::new(LIMIT);
    let mut out = Vec::new();
    for piece in data.chunks(step.max(1)) {
        if decoder.feed(piece, &mut out).is_err() {
            assert!(data.len() >= LIMIT);
        }
    }
    out
}

fn read(mut reader: Box<dyn Reader>, messages: &[Message]) {
    let mut events = Vec::new();
    for message in messages {
        if reader.is_done() || reader.read(message, &mut events).is_err() {
            break;
        }
    }
    let _ = reader.finish();
}
