//! Server-sent events, decoded without I/O (WHATWG HTML, section 9.2.6).
//!
//! Bytes may be cut anywhere. What isn't UTF-8 becomes U+FFFD; nothing makes it panic.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// Its type; empty if the stream names none.
    pub event: String,
    /// Its data, lines joined by LF.
    pub data: String,
    /// The last id that the stream has named.
    pub id: String,
}

/// An event, or a line, is larger than it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {0} bytes")]
pub struct TooLarge(usize);

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The decoder's state between two pieces of a stream.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    /// The line so far, without its end.
    line: Vec<u8>,
    /// Whether a LF that comes next belongs to the CR before it.
    after_cr: bool,
    /// Whether a byte-order mark may still come.
    at_start: bool,
    event: String,
    data: String,
    id: String,
    retry: Option<u64>,
}

impl Decoder {
    /// One that refuses an event of more than `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            event: String::new(),
            data: String::new(),
            id: String::new(),
            retry: None,
        }
    }

    /// Takes the next bytes and adds the events that they complete to `out`.
    ///
    /// # Errors
    /// [`TooLarge`]; the decoder is of no use afterwards.
    pub fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<Message>) -> Result<(), TooLarge> {
        if let [first, rest @ ..] = bytes
            && std::mem::take(&mut self.after_cr)
            && *first == b'\n'
        {
            bytes = rest;
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            let (head, rest) = bytes.split_at(end);
            self.extend(head)?;
            self.end_line(out)?;
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => rest,
            };
            self.after_cr = rest == b"\r";
        }
        self.extend(bytes)
    }

    /// Milliseconds that the stream wants to pass before a client connects again.
    #[must_use]
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Whether something of an event came that is not complete.
    #[must_use]
    pub fn is_in_an_event(&self) -> bool {
        !self.line.is_empty() || !self.data.is_empty() || !self.event.is_empty()
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + self.data.len() + bytes.len() > self.limit {
            return Err(TooLarge(self.limit));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, out: &mut Vec<Message>) -> Result<(), TooLarge> {
        let line = std::mem::take(&mut self.line);
        let first = std::mem::replace(&mut self.at_start, false);
        let line = if first { line.strip_prefix(BOM).unwrap_or(&line) } else { &line };
        if line.is_empty() {
            self.dispatch(out);
            return Ok(());
        }
        let line = String::from_utf8_lossy(line);
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        self.field(name, value.strip_prefix(' ').unwrap_or(value))
    }

    fn field(&mut self, name: &str, value: &str) -> Result<(), TooLarge> {
        match name {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok().or(self.retry);
            }
            // A comment has an empty name; other names are for the future.
            _ => {}
        }
        match self.data.len() > self.limit {
            true => Err(TooLarge(self.limit)),
            false => Ok(()),
        }
    }

    fn dispatch(&mut self, out: &mut Vec<Message>) {
        let event = std::mem::take(&mut self.event);
        let mut data = std::mem::take(&mut self.data);
        if data.pop().is_some() {
            out.push(Message { event, data, id: self.id.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(bytes: &[u8], step: usize) -> Vec<Message> {
        let mut decoder = Decoder::new(1 << 20);
        let mut out = Vec::new();
        for piece in bytes.chunks(step.max(1)) {
            decoder.feed(piece, &mut out).unwrap();
        }
        out
    }

    fn message(event: &str, data: &str, id: &str) -> Message {
        Message { event: event.into(), data: data.into(), id: id.into() }
    }

    #[test]
    fn the_examples_of_the_standard() {
        let stocks = b"data: YHOO\ndata: +2\ndata: 10\n\n";
        assert_eq!(decode(stocks, 99), [message("", "YHOO\n+2\n10", "")]);
        let four = b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n";
        assert_eq!(
            decode(four, 99),
            [
                message("", "first event", "1"),
                message("", "second event", ""),
                message("", " third event", "")
            ]
        );
        let two = b"data\n\ndata\ndata\n\ndata:";
        assert_eq!(decode(two, 99), [message("", "", ""), message("", "\n", "")]);
        assert_eq!(decode(b"data:test\n\ndata: test\n\n", 99).len(), 2);
    }

    #[test]
    fn any_end_of_a_line_and_any_cut_means_the_same() {
        let want = [message("a", "1\n2", "x"), message("", "3", "x")];
        for end in ["\n", "\r", "\r\n"] {
            let text = ["\u{feff}event: a", "id:x", "data:1", "data: 2", "", "data: 3", "", ""];
            let text = text.join(end);
            for step in 1..text.len() {
                assert_eq!(decode(text.as_bytes(), step), want, "{end:?} {step}");
            }
        }
    }

    #[test]
    fn an_id_with_nul_and_a_retry_with_letters_do_not_count() {
        let mut decoder = Decoder::new(99);
        let mut out = Vec::new();
        decoder.feed(b"id: a\nid: b\0\nretry: 10\nretry: 1x\ndata: 1\n\n", &mut out).unwrap();
        assert_eq!((out, decoder.retry()), (vec![message("", "1", "a")], Some(10)));
    }

    #[test]
    fn half_an_event_is_told() {
        let mut decoder = Decoder::new(99);
        decoder.feed(b"data: 1\n\n", &mut Vec::new()).unwrap();
        assert!(!decoder.is_in_an_event());
        decoder.feed(b"data: 2\n", &mut Vec::new()).unwrap();
        assert!(decoder.is_in_an_event());
    }

    #[test]
    fn an_event_that_never_ends_is_refused() {
        let line = Decoder::new(10).feed(&[b'x'; 11], &mut Vec::new());
        assert_eq!(line, Err(TooLarge(10)));
        let mut decoder = Decoder::new(10);
        let lines = (0..9).map(|_| decoder.feed(b"data\n", &mut Vec::new()));
        assert!(
            lines.last().unwrap().is_err() || decoder.feed(b"data\n\n", &mut Vec::new()).is_err()
        );
    }

    /// The standard's words, over the whole text at once.
    fn naive(bytes: &[u8]) -> Vec<Message> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let mut lines: Vec<&str> = text.split('\n').collect();
        lines.pop();
        let (mut out, mut data, mut event, mut id) = (vec![], vec![], "", "");
        for line in lines {
            if line.is_empty() {
                if !data.is_empty() {
                    out.push(message(event, &data.join("\n"), id));
                }
                (data, event) = (vec![], "");
                continue;
            }
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match name {
                "data" => data.push(value),
                "event" => event = value,
                "id" if !value.contains('\0') => id = value,
                _ => {}
            }
        }
        out
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_read_naively(
            parts in prop::collection::vec(prop::sample::select(vec![
                "data", "event", "id", "retry", ":", " ", "\n", "\r", "\r\n", "\n\n", "x", "é",
                "\u{feff}", "\0", "1", "data: a\n\n",
            ]), 0..60),
            step in 1usize..9,
        ) {
            let text = parts.concat();
            prop_assert_eq!(decode(text.as_bytes(), step), naive(text.as_bytes()));
        }

        #[test]
        fn any_bytes_are_cut_anywhere(bytes in prop::collection::vec(any::<u8>(), 0..200), step in 1usize..9) {
            prop_assert_eq!(decode(&bytes, step), decode(&bytes, 1000));
        }
    }
}
