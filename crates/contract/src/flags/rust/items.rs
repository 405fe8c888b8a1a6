//! The items of a file of Rust, as far as it matters which tests there are: modules, functions,
//! imports, and what else stands beside them. The Rust Reference, "Items".

use names::Digest;

use super::lexer::{self, Word};

/// The deepest nesting of modules that is looked into; below, all is one text.
const DEEPEST: usize = 16;

/// A module: a file, or a block.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Module {
    /// Attributes that it has inside: `#![…]`.
    pub(super) inner: Vec<String>,
    pub(super) items: Vec<Item>,
}

/// An item.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) attributes: Vec<String>,
    /// The name that it defines; empty where it defines none.
    pub(super) name: String,
    /// All of it, its attributes too, a blank between two words; of a module, only those.
    pub(super) text: String,
    /// The names in it.
    pub(super) names: Vec<String>,
    /// What is inside, if it is a module or a block of methods.
    pub(super) module: Option<Module>,
    pub(super) line: u64,
    kind: String,
}

impl Item {
    pub(super) fn is_use(&self) -> bool {
        self.kind == "use"
    }

    /// Whether an attribute makes it a test.
    pub(super) fn is_test(&self) -> bool {
        self.attributes.iter().any(|attribute| {
            let path = attribute.trim_start_matches("# [ ");
            let path = path.split(" (").next().unwrap_or(path).trim_end_matches(" ]");
            let last = path.rsplit(' ').next().unwrap_or(path);
            matches!(last, "test" | "bench" | "rstest" | "test_case" | "quickcheck" | "proptest")
                || last.ends_with("_test")
        }) || matches!(self.kind.as_str(), "proptest" | "quickcheck")
    }

    /// Whether it is there only while tests are built.
    pub(super) fn is_only_for_tests(&self) -> bool {
        self.attributes.iter().any(|attribute| {
            attribute.starts_with("# [ cfg (")
                && attribute.split(' ').any(|word| word == "test")
                && !attribute.contains("not ( test )")
        })
    }
}

/// Reads a file.
pub(super) fn read(text: &str) -> Module {
    let words = lexer::words(text);
    module(&words, 0)
}

fn module(words: &[Word<'_>], depth: usize) -> Module {
    let mut module = Module::default();
    let mut rest = words;
    let mut attributes = Vec::new();
    while let Some(first) = rest.first() {
        match (first.text, rest.get(1).map(|word| word.text)) {
            ("#", Some("!")) => {
                let end = 2 + group(rest.get(2..).unwrap_or_default());
                module.inner.push(joined(rest.get(..end).unwrap_or(rest)));
                rest = rest.get(end..).unwrap_or_default();
            }
            ("#", Some("[")) => {
                let end = 1 + group(rest.get(1..).unwrap_or_default());
                attributes.push(joined(rest.get(..end).unwrap_or(rest)));
                rest = rest.get(end..).unwrap_or_default();
            }
            _ => {
                let end = item_length(rest).max(1);
                let own = rest.get(..end).unwrap_or(rest);
                module.items.push(item(own, std::mem::take(&mut attributes), depth));
                rest = rest.get(end..).unwrap_or_default();
            }
        }
    }
    module
}

/// The number of words of the group that begins here, or 1 where none does.
fn group(words: &[Word<'_>]) -> usize {
    let mut depth = 0_usize;
    for (at, word) in words.iter().enumerate() {
        match word.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    words.len().max(1)
}

/// The number of words of the item that begins here.
fn item_length(words: &[Word<'_>]) -> usize {
    let closes_with_semicolon = matches!(kind(words), "use" | "static" | "type" | "let" | "const");
    let mut at = 0;
    while let Some(word) = words.get(at) {
        match word.text {
            ";" => return at + 1,
            "{" => {
                let end = at + group(words.get(at..).unwrap_or_default());
                if !closes_with_semicolon {
                    return end;
                }
                at = end;
            }
            "(" | "[" => at += group(words.get(at..).unwrap_or_default()),
            // The end of a group that began nowhere.
            "}" | ")" | "]" => return at + 1,
            _ => at += 1,
        }
    }
    words.len()
}

/// The word that says what an item is; for a macro that is called, the macro's name.
fn kind<'t>(words: &[Word<'t>]) -> &'t str {
    let mut at = 0;
    loop {
        let Some(word) = words.get(at) else { return "" };
        let next = words.get(at + 1).map_or("", |next| next.text);
        match word.text {
            "pub" if next == "(" => at += 1 + group(words.get(at + 1..).unwrap_or_default()),
            "pub" | "unsafe" | "async" | "default" | "auto" | "safe" => at += 1,
            "const" if matches!(next, "fn" | "unsafe" | "async" | "extern") => at += 1,
            "extern" if next.starts_with('"') => at += 2,
            "extern" if next == "fn" => at += 1,
            text => return text,
        }
    }
}

fn item(words: &[Word<'_>], attributes: Vec<String>, depth: usize) -> Item {
    let kind = kind(words);
    let mut after = words.iter().skip_while(|word| word.text != kind).skip(1);
    let name = match kind {
        "impl" => heading(words),
        _ => after.find(|word| is_name(word.text)).map_or_else(String::new, |w| w.text.to_owned()),
    };
    let holds_items = matches!(kind, "mod" | "impl" | "trait") && depth < DEEPEST;
    let body = words.iter().position(|word| word.text == "{").filter(|_| holds_items);
    let module = body.and_then(|at| {
        let inside = words.get(at + 1..words.len().saturating_sub(1))?;
        Some(module(inside, depth + 1))
    });
    // What is looked into is not needed as a text.
    let own = if module.is_some() { String::new() } else { joined(words) };
    let text = match attributes.is_empty() {
        true => own,
        false => format!("{} {own}", attributes.join(" ")),
    };
    let names = text.split(' ').filter(|word| is_name(word)).map(str::to_owned).collect();
    let line = words.first().map_or(0, |word| word.line);
    Item { attributes, name, text, names, module, line, kind: kind.to_owned() }
}

/// What stands before the block.
fn heading(words: &[Word<'_>]) -> String {
    let end = words.iter().position(|word| word.text == "{").unwrap_or(words.len());
    joined(words.get(..end).unwrap_or(words))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c == '_' || c.is_alphabetic()) && !text.contains(['"', '\''])
}

/// The words with a blank between two, but for a comma before what closes, which layout adds.
fn joined(words: &[Word<'_>]) -> String {
    let mut text = String::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map_or("", |next| next.text);
        if word.text == "," && matches!(next, ")" | "]" | "}") {
            continue;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word.text);
    }
    text
}

/// What a `use` brings in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Import {
    /// The whole path, as it is compared.
    path: Digest,
    /// The name that it has here; `*` for everything.
    pub(super) name: String,
    /// As it is shown.
    pub(super) shown: String,
}

/// The part of a path that was read so far.
#[derive(Debug, Clone)]
struct Prefix<'t> {
    digest: Digest,
    /// Its text; of one longer than [`LONGEST_SHOWN`], the end.
    shown: String,
    last: &'t str,
}

/// The longest path or name that is kept as a text, in bytes.
const LONGEST_SHOWN: usize = 200;

impl<'t> Prefix<'t> {
    fn root() -> Self {
        Self { digest: Digest::of(b""), shown: String::new(), last: "" }
    }

    fn push(&mut self, word: &'t str) {
        // What brings in the module itself brings in what is before it.
        if word == "self" && !self.last.is_empty() {
            return;
        }
        self.digest = Digest::of_parts("path", &[self.digest.bytes(), word.as_bytes()]);
        self.last = word;
        self.shown = match self.shown.as_str() {
            "" => short(word).to_owned(),
            before if before.len() + word.len() > LONGEST_SHOWN => format!("…::{}", short(word)),
            before => format!("{before}::{word}"),
        };
    }

    fn import(self, name: Option<&str>) -> Import {
        let Self { digest, shown, last } = self;
        let name = short(name.unwrap_or(last)).to_owned();
        let shown = if name == last { shown } else { format!("{shown} as {name}") };
        Import { path: digest, name, shown }
    }
}

fn short(word: &str) -> &str {
    if word.len() > LONGEST_SHOWN { "…" } else { word }
}

/// What a `use` brings in. Its groups may nest deeply: a path is read once, however many names it
/// leads to.
pub(super) fn imports(text: &str) -> Vec<Import> {
    let mut rest = text.split(' ').skip_while(|word| *word != "use").skip(1);
    let mut found = Vec::new();
    let mut above: Vec<Prefix<'_>> = Vec::new();
    let mut path = Prefix::root();
    let mut is_begun = false;
    let mut name: Option<&str> = None;
    while let Some(word) = rest.next() {
        match word {
            ":" => {}
            "{" => {
                above.push(path.clone());
                is_begun = false;
            }
            "as" => name = rest.next(),
            "," | ";" | "}" => {
                let group = above.last().cloned().unwrap_or_else(Prefix::root);
                let whole = std::mem::replace(&mut path, group);
                let name = name.take();
                if std::mem::take(&mut is_begun) {
                    found.push(whole.import(name));
                }
                if word == "}" {
                    above.pop();
                }
            }
            word => {
                path.push(word);
                is_begun = true;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_told_apart() {
        let text = "//! doc\n#![cfg(test)]\nuse a::{b, c as d, e::*, f::{self, g}};\n\
                    const X: S = S { a: 1 };\npub(crate) fn one() { if x { } }\nstruct T(u8);\n\
                    #[cfg(test)]\nmod tests { #[test] fn t() {} }\nfoo! { a }\nimpl A for B { fn c() {} }";
        let module = read(text);
        let kinds: Vec<_> = module.items.iter().map(|item| item.kind.as_str()).collect();
        assert_eq!(kinds, ["use", "const", "fn", "struct", "mod", "foo", "impl"]);
        assert_eq!(module.inner, ["# ! [ cfg ( test ) ]"]);
        let tests = &module.items[4];
        assert!(tests.is_only_for_tests());
        assert!(tests.module.as_ref().unwrap().items[0].is_test());
        let imports = imports(&module.items[0].text);
        let names: Vec<_> = imports.iter().map(|import| import.name.as_str()).collect();
        assert_eq!(names, ["b", "d", "*", "f", "g"]);
        let shown: Vec<_> = imports.iter().map(|import| import.shown.as_str()).collect();
        assert_eq!(shown, ["a::b", "a::c as d", "a::e::*", "a::f", "a::f::g"]);
    }

    #[test]
    fn layout_is_no_difference() {
        let one = read("fn a() { b(c, d,); }");
        let other = read("fn a()\n{\n    b(\n        c, // x\n        d,\n    );\n}");
        assert_eq!(one.items[0].text, other.items[0].text);
    }

    #[test]
    fn what_is_no_rust_has_an_end() {
        for text in
            ["}", "{", "#", "#[", "#![", "mod", "use {", "pub(", "fn }", "impl {", "\"", "mod a {{"]
        {
            let _ = read(text);
        }
        let deep = "mod a {".repeat(200) + &"}".repeat(200);
        assert_eq!(read(&deep).items.len(), 1);
    }
}
