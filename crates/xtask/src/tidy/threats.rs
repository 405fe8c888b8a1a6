//! The threat table of SECURITY.md: every threat names a module that exists and a test that exists.

use super::code;
use super::sources::Sources;

const DOCUMENT: &str = "SECURITY.md";
const HEADING: &str = "| threat | answered in | tests |";

/// Rows of the table that name no module or test, or one that does not exist.
pub(super) fn broken(sources: &Sources) -> Vec<String> {
    let Some(text) = sources.text(DOCUMENT) else {
        return vec!["there is no SECURITY.md".to_owned()];
    };
    let rows = rows(text);
    if rows.is_empty() {
        return vec![format!("SECURITY.md has no table under `{HEADING}`")];
    }
    let known = Known::read(sources);
    rows.iter().flat_map(|row| row.problems(sources, &known)).collect()
}

struct Row<'a> {
    threat: &'a str,
    modules: Vec<&'a str>,
    tests: Vec<&'a str>,
}

/// The rows of every table with the heading of the threat table.
fn rows(text: &str) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line == HEADING {
            inside = true;
        } else if !line.starts_with('|') {
            inside = false;
        } else if inside && !line.starts_with("|--") && !line.starts_with("| --") {
            rows.extend(row(line));
        }
    }
    rows
}

fn row(line: &str) -> Option<Row<'_>> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    match cells.as_slice() {
        [threat, modules, tests] => {
            Some(Row { threat, modules: quoted(modules), tests: quoted(tests) })
        }
        _ => Some(Row { threat: line, modules: Vec::new(), tests: Vec::new() }),
    }
}

/// What stands between backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Names of tests and cases that exist.
struct Known<'a> {
    /// Code with comments and strings blanked out, and the same with them, for tests that have their name as text.
    rust: Vec<(String, &'a str)>,
    corpus: Vec<&'a str>,
}

impl<'a> Known<'a> {
    fn read(sources: &'a Sources) -> Self {
        Self {
            rust: sources.rust().map(|file| (code::only(&file.text), file.text.as_str())).collect(),
            corpus: sources
                .files()
                .filter_map(|file| file.path.strip_prefix("crates/corpus/cases/"))
                .collect(),
        }
    }

    fn has(&self, name: &str) -> bool {
        if is_case(name) { self.has_case(name) } else { self.has_test(name) }
    }

    fn has_test(&self, name: &str) -> bool {
        let function = format!("fn {name}(");
        self.rust.iter().any(|(code, _)| code.contains(&function))
    }

    /// A case is a folder, named by its id or by its id and a title.
    fn has_case(&self, id: &str) -> bool {
        self.corpus.iter().any(|path| {
            let rest = path.split('/').find_map(|part| part.strip_prefix(id));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', '_']))
        })
    }
}

/// Whether a name is the id of a case: a letter and a number.
fn is_case(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|letter| letter.is_ascii_uppercase())
        && characters.next().is_some_and(|digit| digit.is_ascii_digit())
}

impl Row<'_> {
    fn problems(&self, sources: &Sources, known: &Known<'_>) -> Vec<String> {
        let mut problems = Vec::new();
        if self.modules.is_empty() || self.tests.is_empty() {
            problems.push(format!("{}: a row names a threat, a module and a test", self.threat));
        }
        let modules = self.modules.iter().filter(|module| !sources.has(module));
        problems.extend(modules.map(|module| format!("{}: there is no {module}", self.threat)));
        let tests = self.tests.iter().filter(|test| !known.has(test));
        problems.extend(
            tests.map(|test| format!("{}: there is no test or case `{test}`", self.threat)),
        );
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(row: &str) -> Vec<String> {
        let table = format!("# Security\n\n{HEADING}\n|---|---|---|\n{row}\n");
        broken(&Sources::of(&[
            (DOCUMENT, &table),
            (
                "crates/a/src/apply.rs",
                "#[test]\nfn a_link_is_not_followed() {}\n// fn only_a_comment() {}\n",
            ),
            ("crates/corpus/cases/B1-symlink/case.toml", ""),
        ]))
    }

    #[test]
    fn a_row_with_module_test_and_case_holds() {
        assert!(
            findings("| links | `crates/a/src/apply.rs` | `a_link_is_not_followed`, `B1` |")
                .is_empty()
        );
    }

    #[test]
    fn what_does_not_exist_is_found() {
        assert_eq!(findings("| links | `crates/a/src/gone.rs` | `B1` |").len(), 1);
        assert_eq!(findings("| links | `crates/a/src/apply.rs` | `no_such_test` |").len(), 1);
        assert_eq!(findings("| links | `crates/a/src/apply.rs` | `only_a_comment` |").len(), 1);
        assert_eq!(findings("| links | `crates/a/src/apply.rs` | `B2` |").len(), 1);
        assert_eq!(findings("| links | `crates/a/src/apply.rs` | |").len(), 1);
        assert_eq!(findings("| links |").len(), 1);
    }

    #[test]
    fn a_document_without_the_table_is_found() {
        assert_eq!(broken(&Sources::of(&[])).len(), 1);
        assert_eq!(broken(&Sources::of(&[(DOCUMENT, "# Security\n")])).len(), 1);
    }
}
