//! What a program printed, as text to read: without the codes by which it steers a terminal.

/// The escape that begins a control sequence: ECMA-48.
const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';

/// The text of `bytes`: UTF-8, what is none of it replaced; control sequences, and control
/// characters other than tab and line feed, left out; of a line that was written over by carriage
/// returns, the last.
pub(crate) fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let without = without_sequences(&text);
    let mut plain = String::with_capacity(without.len());
    for line in without.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let line = line.trim_end_matches('\r');
        plain.push_str(line.rsplit('\r').next().unwrap_or(line));
        plain.push_str(end);
    }
    plain
}

fn without_sequences(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            ESCAPE => skip_sequence(&mut rest),
            '\n' | '\t' | '\r' => plain.push(c),
            // A backspace takes back one character of its line.
            '\u{8}' if !plain.ends_with(['\n', '\r']) => drop(plain.pop()),
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}

/// After an escape: a control sequence, a string such as a title, or two characters.
fn skip_sequence(rest: &mut std::str::Chars<'_>) {
    match rest.next() {
        Some('[') => drop(rest.find(|c| ('@'..='~').contains(c))),
        Some(']' | 'P' | '^' | '_' | 'X') => {
            let mut last = ' ';
            let is_end = |c: char| {
                let ends = c == BELL || (last == ESCAPE && c == '\\');
                last = c;
                ends
            };
            let _ = rest.position(is_end);
        }
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => drop(rest.next()),
        _ => {}
    }
}

/// So many bytes, as people say it.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match UNITS.iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((unit, shift)) => {
            let (whole, rest) = (bytes >> shift, bytes & ((1 << shift) - 1));
            format!("{whole}.{} {unit}", (rest * 10) >> shift)
        }
        None if bytes == 1 => "1 byte".to_owned(),
        None => format!("{bytes} bytes"),
    }
}

/// `one` thing, or so many of them.
pub(crate) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let all = [0, 1, 1023, 1024, 1_500_000, 5 << 30];
        let expected = ["0 bytes", "1 byte", "1023 bytes", "1.0 KiB", "1.4 MiB", "5.0 GiB"];
        assert_eq!(all.map(size), expected);
    }

    #[test]
    fn what_steers_a_terminal_is_left_out() {
        for (printed, read) in [
            (&b"\x1b[31mred\x1b[0m\n"[..], "red\n"),
            (b"\x1b]0;title\x07a\x1b]8;;x\x1b\\b", "ab"),
            (b"10%\r50%\r100%\r\nnext", "100%\nnext"),
            (b"abc\x08\x08X\n\x08y", "aX\ny"),
            (b"a\x00\x07\tb", "a\tb"),
            (b"\xff\x1b", "\u{fffd}"),
            (b"\x1b(Bok\x1b=", "ok"),
        ] {
            assert_eq!(text(printed), read);
        }
    }
}
