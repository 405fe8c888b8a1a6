//! An output as lines of text: without colours, and as a terminal would leave them.

/// The lines, without escape sequences; what a carriage return would overwrite is a line, too.
pub(super) fn of(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    plain(&text).split(['\n', '\r']).map(|line| line.trim_end().to_owned()).collect()
}

/// The text without escape sequences: ECMA-48, sections 5.3 to 5.6.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('[') => {
                rest.by_ref().find(|c| ('@'..='~').contains(c));
            }
            Some(']') => {
                rest.by_ref().find(|c| matches!(c, '\u{7}' | '\\' | '\n'));
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_no_part_of_a_line() {
        let output = b"\x1b[32m\x1b[1mok\x1b[0m 1\r\n\x1b]0;title\x07two\nbar\rbaz\xff";
        assert_eq!(of(output), ["ok 1", "", "two", "bar", "baz\u{fffd}"]);
        assert_eq!(of(b"\x1b"), [""]);
    }
}
