//! Cutting texts to a size.

/// The text, or its beginning and end with a word about what is missing between them. The whole is
/// at most `most` bytes and the length of that word.
pub(crate) fn middle_cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let start = text.floor_char_boundary(most / 3 * 2);
    let end = text.ceil_char_boundary(text.len() - most / 3);
    let left_out = end.saturating_sub(start);
    let (first, last) = (text.get(..start).unwrap_or(""), text.get(end..).unwrap_or(""));
    format!("{first}\n[… {left_out} bytes left out …]\n{last}")
}

/// The beginning of a text, at most `most` bytes and one character.
pub(crate) fn start_of(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{}…", text.get(..end).unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        let text = "äöü".repeat(100);
        for most in 0..70 {
            let cut = middle_cut(&text, most);
            assert!(cut.len() <= most + 40 && cut.contains("bytes left out"), "{most}: {cut}");
            assert!(start_of(&text, most).len() <= most + 3);
        }
        assert_eq!(middle_cut("abc", 3), "abc");
    }
}
