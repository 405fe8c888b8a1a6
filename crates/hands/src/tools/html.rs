//! A page of the web as text to read: what it says, its headings, lists and links, without markup.
//!
//! No parser of HTML: nothing depends on its tree, so tags are taken as they come.

/// Elements whose content nobody reads.
const UNREAD: [&str; 7] = ["script", "style", "head", "noscript", "svg", "template", "iframe"];
/// Elements that begin on a line of their own.
const BLOCKS: [&str; 26] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figure",
    "footer",
    "form",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "tr",
    "ul",
    "title",
];

/// The text of a page.
pub(crate) fn to_text(page: &str) -> String {
    let mut text = Text::default();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        text.add(before);
        rest = text.markup(tag);
    }
    text.add(rest);
    text.finish()
}

#[derive(Default)]
struct Text {
    out: String,
    /// How deep in `pre`, where white space counts.
    verbatim: u32,
    /// A space is due before the next word.
    space: bool,
    /// Where links lead that are open.
    links: Vec<String>,
}

impl Text {
    /// Takes what begins with `<`; returns what comes after it.
    fn markup<'a>(&mut self, from: &'a str) -> &'a str {
        if let Some(comment) = from.strip_prefix("<!--") {
            return comment.split_once("-->").map_or("", |(_, rest)| rest);
        }
        let after = from.get(1..).unwrap_or_default();
        let begins = |c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?');
        if !after.starts_with(begins) {
            self.add("<");
            return after;
        }
        let (tag, rest) = split_tag(after);
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase();
        if tag.starts_with('/') {
            self.close(&name);
            return rest;
        }
        if UNREAD.contains(&name.as_str()) && !tag.ends_with('/') {
            return after_end_of(&name, rest);
        }
        self.open(&name, tag);
        rest
    }

    fn open(&mut self, name: &str, tag: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.paragraph();
                let depth = name.trim_start_matches('h').parse().unwrap_or(1);
                self.out.push_str(&"#".repeat(depth));
                self.space = true;
            }
            "li" => {
                self.line();
                self.out.push('-');
                self.space = true;
            }
            "p" => self.paragraph(),
            "td" | "th" => self.space = true,
            "a" => self.links.push(attribute(tag, "href").unwrap_or_default()),
            "pre" => {
                self.paragraph();
                self.verbatim += 1;
            }
            name if BLOCKS.contains(&name) => self.line(),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "a" => {
                let link = self.links.pop().unwrap_or_default();
                if link.starts_with("http") && !self.out.ends_with(&link) {
                    self.out.push_str(&format!(" ({link})"));
                }
            }
            "pre" => {
                self.verbatim = self.verbatim.saturating_sub(1);
                self.paragraph();
            }
            "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.paragraph(),
            name if BLOCKS.contains(&name) => self.line(),
            _ => {}
        }
    }

    /// Adds text between tags.
    fn add(&mut self, text: &str) {
        let text = entities(text);
        if self.verbatim > 0 {
            self.out.push_str(&text);
            return;
        }
        self.space |= text.starts_with(char::is_whitespace);
        let ends_in_space = text.ends_with(char::is_whitespace);
        for word in text.split_whitespace() {
            if self.space && !self.out.is_empty() && !self.out.ends_with(['\n', ' ']) {
                self.out.push(' ');
            }
            self.out.push_str(word);
            self.space = true;
        }
        self.space = ends_in_space || (self.space && text.trim().is_empty());
    }

    fn line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.space = false;
    }

    fn paragraph(&mut self) {
        self.line();
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn finish(self) -> String {
        let mut text = String::with_capacity(self.out.len());
        let mut empty = 0;
        for line in self.out.lines().map(str::trim_end) {
            empty = if line.is_empty() { empty + 1 } else { 0 };
            if empty <= 1 {
                text.push_str(line);
                text.push('\n');
            }
        }
        text.trim().to_owned()
    }
}

/// A tag to its end, which is not in a quoted value; and what comes after.
fn split_tag(from: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, c) in from.char_indices() {
        match (quote, c) {
            (None, '>') => {
                let (tag, rest) = from.split_at(at);
                return (tag, rest.get(1..).unwrap_or_default());
            }
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    (from, "")
}

/// What comes after the end of an element that is not read; the end of the page if it has none.
fn after_end_of<'a>(name: &str, rest: &'a str) -> &'a str {
    let mut from = rest;
    while let Some(at) = from.find("</") {
        let after = from.get(at + 2..).unwrap_or_default();
        let is_end = after.get(..name.len()).is_some_and(|end| end.eq_ignore_ascii_case(name));
        if is_end {
            return after.split_once('>').map_or("", |(_, rest)| rest);
        }
        from = after;
    }
    ""
}

/// The value of an attribute of a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let at = tag.to_ascii_lowercase().find(&format!("{name}="))?;
    let value = tag.get(at + name.len() + 1..)?;
    let value = match value.chars().next()? {
        quote @ ('"' | '\'') => value.get(1..)?.split(quote).next()?,
        _ => value.split([' ', '>', '\t', '\n']).next()?,
    };
    Some(entities(value))
}

/// The text with character references replaced.
fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let after = from.get(1..).unwrap_or_default();
        let known = after.split_once(';').filter(|(name, _)| name.len() <= 8);
        match known.and_then(|(name, after)| Some((character(name)?, after))) {
            Some((character, after)) => {
                out.push(character);
                rest = after;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn character(name: &str) -> Option<char> {
    const NAMED: [(&str, char); 14] = [
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("nbsp", ' '),
        ("ndash", '–'),
        ("mdash", '—'),
        ("hellip", '…'),
        ("lsquo", '‘'),
        ("rsquo", '’'),
        ("ldquo", '“'),
        ("rdquo", '”'),
        ("copy", '©'),
    ];
    if let Some((_, character)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Some(*character);
    }
    let number = name.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code).filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_reads_as_text() {
        let page = r#"<!DOCTYPE html><html><head><title>x</title><style>p{}</style></head>
            <body><h1>The &amp; title</h1><!-- <p>no --><p>One <b>bold</b>
            word, and <a title="a > b" href="https://example.com/a?b=1&amp;c">a link</a>.</p>
            <ul><li>first<li>second</ul><script>if (a < b) { x("</p>") }</script>
            <pre>  kept
  as it is</pre><table><tr><td>1<td>2<tr><td>3</table>1 < 2 &unknown; &#x41;</body>"#;
        let expected = "# The & title\n\nOne bold word, and a link (https://example.com/a?b=1&c).\n\n\
            - first\n- second\n\n  kept\n  as it is\n\n1 2\n3\n1 < 2 &unknown; A";
        assert_eq!(to_text(page), expected);
    }

    #[test]
    fn what_is_broken_is_read_to_its_end() {
        for (page, text) in [
            ("<", "<"),
            ("a<b", "a"),
            ("<script>x", ""),
            ("<!--x", ""),
            ("&#;&", "&#;&"),
            ("<a", ""),
        ] {
            assert_eq!(to_text(page), text, "{page}");
        }
    }
}
