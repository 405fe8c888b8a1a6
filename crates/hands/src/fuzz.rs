//! Entry points of the fuzz targets and of the tests that replay their corpus: hostile bytes in,
//! a panic if a promise of this crate does not hold.

use crate::proposal::Proposal;
use crate::tools;
use crate::wire::{Conversation, Heard, LARGEST_REPORT, WireError};

/// Whatever the program inside says: it is heard the same in whatever pieces it comes, in bounded
/// memory, and a lie ends it. The first byte says how it is cut.
pub fn fuzz_conversation(data: &[u8]) {
    let Some((cut, said)) = data.split_first() else { return };
    let whole = listen(said, said.len().max(1));
    assert_eq!(whole, listen(said, usize::from(*cut).max(1)));
}

fn listen(said: &[u8], piece: usize) -> (Vec<Heard>, Option<WireError>) {
    let mut conversation = Conversation::default();
    let mut heard = Vec::new();
    for id in 0..4 {
        let opened = conversation.carry(id, &Proposal::List { path: None, offset: None });
        assert!(opened.is_ok());
    }
    for piece in said.chunks(piece) {
        conversation.push(piece);
        loop {
            match conversation.hear() {
                Ok(Some(next)) => heard.push(next),
                Ok(None) => break,
                Err(error) => return (heard, Some(error)),
            }
        }
        assert!(conversation.held() <= LARGEST_REPORT + 4);
    }
    (heard, None)
}

/// A patch is read, or refused with a line's number; and so is a page of the web made text.
pub fn fuzz_text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Err(error) = tools::patch::parse(&text) {
        assert!(!error.to_string().is_empty());
    }
    let page = tools::html::to_text(&text);
    assert!(page.len() <= 4 * text.len() + 64, "{} of {}", page.len(), text.len());
    let plain = tools::plain::text(data);
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
}
