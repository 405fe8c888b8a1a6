//! The words of a command, well enough to see which files and programs it names. Nothing is
//! expanded; what can't be seen here is not held, so nobody may rely on it for safety alone.

use crate::terms::{Check, Command};

/// A simple command of a line: its words, without what joins it to others.
pub(crate) type Words = Vec<String>;

/// The simple commands of a check, in order. A list is one; a line may hold several, and those
/// that are handed to a further `sh -c` are looked into.
pub(crate) fn commands(run: &Command) -> Vec<Words> {
    match run {
        Command::Argv(argv) => unwrapped(argv.clone(), 0),
        Command::Shell(line) => of_line(line, 0),
    }
}

fn of_line(line: &str, depth: usize) -> Vec<Words> {
    split(line).into_iter().flat_map(|words| unwrapped(words, depth)).collect()
}

/// A command, and what is in the line that it hands to a shell.
fn unwrapped(words: Words, depth: usize) -> Vec<Words> {
    const DEEPEST: usize = 4;
    let shell = words.iter().any(|word| matches!(file_name(word), "sh" | "bash" | "dash" | "zsh"));
    let line = words.iter().skip_while(|word| !is_command_flag(word)).nth(1);
    let inner = match line {
        Some(line) if shell && depth < DEEPEST => of_line(line, depth + 1),
        _ => Vec::new(),
    };
    [words].into_iter().chain(inner).collect()
}

/// `-c`, `-ec`, `-lc`.
fn is_command_flag(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|flags| flags.ends_with('c') && flags.chars().all(|c| c.is_ascii_lowercase()))
}

/// What follows the last slash.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Splits a line at blanks and at what joins commands; quotes hold together.
fn split(line: &str) -> Vec<Words> {
    let mut commands: Vec<Words> = Vec::new();
    let mut words: Words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\'' => {
                let quoted = word.get_or_insert_default();
                quoted.extend(rest.by_ref().take_while(|c| *c != '\''));
            }
            '"' => {
                let quoted = word.get_or_insert_default();
                while let Some(c) = rest.next().filter(|c| *c != '"') {
                    let plain = if c == '\\' { rest.next() } else { Some(c) };
                    quoted.extend(plain);
                }
            }
            '\\' => {
                let next = rest.next().filter(|c| *c != '\n');
                if let Some(next) = next {
                    word.get_or_insert_default().push(next);
                }
            }
            '#' if word.is_none() => {
                rest.by_ref().take_while(|c| *c != '\n').for_each(drop);
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            ';' | '&' | '|' | '\n' | '(' | ')' | '`' | '{' | '}' => {
                words.extend(word.take());
                commands.push(std::mem::take(&mut words));
            }
            '<' | '>' => words.extend(word.take()),
            c if c.is_whitespace() => words.extend(word.take()),
            '$' if rest.peek() == Some(&'(') => {}
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    commands.push(words);
    commands.retain(|words| !words.is_empty());
    commands
}

/// The program of a command and what follows it, without variables that are set and without
/// programs that only start another: `env`, `time`, `npx`, `uv run`, `bundle exec`…
pub(crate) fn program(words: &[String]) -> Option<(&str, &[String])> {
    let mut rest = words;
    loop {
        let (first, after) = rest.split_first()?;
        let name = file_name(first);
        let second = after.first().map_or("", String::as_str);
        rest = match (name, second) {
            _ if is_assignment(first) => after,
            ("uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye" | "pixi", "run")
            | ("bundle" | "pnpm" | "yarn" | "npm" | "mise" | "asdf", "exec")
            | ("pnpm" | "yarn", "dlx" | "run")
            | ("bun", "x") => after.get(1..)?,
            (
                "env" | "time" | "timeout" | "nice" | "exec" | "command" | "npx" | "bunx" | "pnpx"
                | "xvfb-run" | "stdbuf" | "sudo" | "nohup" | "if" | "then" | "else" | "do"
                | "while" | "!" | "until",
                _,
            ) => skip_flags(after),
            // Yarn and pnpm start a program of the project by its name alone.
            ("yarn" | "pnpm", "jest" | "vitest" | "mocha" | "eslint" | "tsc" | "ava") => after,
            _ => return Some((name, after)),
        };
    }
}

/// Skips flags and the values that the flags of such programs have: times, numbers, signals.
fn skip_flags(words: &[String]) -> &[String] {
    let is_value = |word: &str| {
        let number = word.trim_end_matches(['s', 'm', 'h', 'd']);
        let counts = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        counts || word.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    let skipped = words.iter().take_while(|word| word.starts_with('-') || is_value(word)).count();
    words.get(skipped..).unwrap_or_default()
}

fn is_assignment(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_numeric())
    })
}

/// Programs that look at the files that they are given: such a file is what is checked, not what
/// it is checked against.
const SUBJECTS: &[&str] = &[
    "gcc",
    "g++",
    "cc",
    "c++",
    "clang",
    "clang++",
    "rustc",
    "tsc",
    "javac",
    "kotlinc",
    "scalac",
    "ghc",
    "go",
    "gofmt",
    "gofumpt",
    "rustfmt",
    "cargo",
    "black",
    "ruff",
    "flake8",
    "pylint",
    "mypy",
    "pyright",
    "isort",
    "eslint",
    "prettier",
    "biome",
    "stylelint",
    "shellcheck",
    "shfmt",
    "rubocop",
    "phpstan",
    "psalm",
    "php-cs-fixer",
    "clang-format",
    "clang-tidy",
    "cppcheck",
    "swiftlint",
    "ktlint",
    "yamllint",
    "markdownlint",
    "hadolint",
    "bandit",
    "vulture",
    "tflint",
    "wc",
    "grep",
    "rg",
    "cat",
    "head",
    "tail",
    "ls",
    "stat",
    "echo",
    "rm",
    "mkdir",
    "touch",
    "cp",
    "mv",
    "chmod",
    "ln",
    "cd",
    "find",
];

/// The paths below the project's root that a check's command may name: each word, as it is and
/// from the directories that the command works in.
pub(crate) fn named_paths(check: &Check) -> Vec<String> {
    let mut from: Vec<String> = vec![String::new()];
    from.extend(check.directory.as_ref().map(|directory| directory.text().into_owned()));
    let mut paths = Vec::new();
    for words in commands(&check.run) {
        let known = program(&words).map_or("", |(name, _)| name);
        if known == "cd" {
            let entered: Vec<String> = words
                .get(1)
                .into_iter()
                .flat_map(|to| from.iter().filter_map(|f| join(f, to)))
                .collect();
            from.extend(entered);
            from.truncate(16);
        }
        let subjects = SUBJECTS.contains(&known) || is_python_tool(&words);
        // The program itself is what is run, even where its arguments are what is looked at.
        let looked_at =
            if subjects { words.get(..1).unwrap_or_default() } else { words.as_slice() };
        for candidate in looked_at.iter().flat_map(|word| candidates(word)) {
            paths.extend(from.iter().filter_map(|from| join(from, candidate)));
        }
        if is_make(known) {
            paths.extend(goals(&words).flat_map(|goal| from.iter().filter_map(|f| join(f, goal))));
        }
    }
    paths
}

/// `python -m mypy src/x.py`.
fn is_python_tool(words: &[String]) -> bool {
    let module = words.iter().skip_while(|word| *word != "-m").nth(1);
    module.is_some_and(|module| {
        SUBJECTS.contains(&module.as_str()) || module == "py_compile" || module == "compileall"
    })
}

/// Whether it is a program that does nothing where a file has the name of what it shall make.
pub(crate) fn is_make(program: &str) -> bool {
    matches!(program, "make" | "gmake" | "bmake" | "ninja" | "samu" | "remake")
}

/// What `make` shall make; where nothing is named, what is usually the first.
pub(crate) fn goals(words: &[String]) -> impl Iterator<Item = &str> {
    let named = words.iter().skip_while(|word| !is_make(file_name(word))).skip(1);
    let mut named: Vec<&str> = named
        .map(String::as_str)
        .filter(|word| !word.starts_with('-') && !word.contains('='))
        .collect();
    if named.is_empty() {
        named.push("all");
    }
    named.into_iter()
}

/// Whether the word is a goal of `make` in this check, so that a file of this name would stop it.
pub(crate) fn is_goal(check: &Check, path: &str) -> bool {
    let from = check.directory.as_ref().map(|directory| directory.text().into_owned());
    commands(&check.run).iter().any(|words| {
        program(words).is_some_and(|(name, _)| is_make(name))
            && goals(words).any(|goal| {
                goal == path
                    || from.as_ref().and_then(|from| join(from, goal)).as_deref() == Some(path)
            })
    })
}

/// What of a word may be a path: `tests/a.py::test_b`, `--config=x.json`, `-fMakefile`, `@list`.
fn candidates(word: &str) -> impl Iterator<Item = &str> {
    let before = word.split("::").next().unwrap_or(word);
    let value = before.split_once('=').map(|(_, value)| value);
    let glued = before.strip_prefix("-f");
    let listed = before.strip_prefix('@');
    [Some(before), value, glued, listed].into_iter().flatten()
}

/// `to` taken from the directory `from`, as a path below the root; none if it leaves it.
fn join(from: &str, to: &str) -> Option<String> {
    if to.is_empty() || to.starts_with('/') || to.len() > 4096 {
        return None;
    }
    let mut names: Vec<&str> = from.split('/').filter(|name| !name.is_empty()).collect();
    for name in to.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    (!names.is_empty()).then(|| names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::{Exit, Expect};

    fn check(run: &str, directory: Option<&str>) -> Check {
        Check {
            name: "c".to_owned(),
            run: Command::Shell(run.to_owned()),
            directory: directory.map(|text| text.parse().unwrap()),
            expect: Expect { exit: Exit::Code(0), stdout: None, tests: None },
            timeout: None,
        }
    }

    fn names(run: &str, path: &str) -> bool {
        named_paths(&check(run, None)).iter().any(|named| named == path)
    }

    #[test]
    fn a_line_is_split_as_a_shell_would() {
        let words = |line: &str| split(line);
        assert_eq!(words("a 'b c' \"d\\\"e\" f\\ g"), [["a", "b c", "d\"e", "f g"]]);
        assert_eq!(words("a&&b;c|d\n(e) # f g"), [["a"], ["b"], ["c"], ["d"], ["e"]]);
        assert_eq!(words("a >out <in"), [["a", "out", "in"]]);
        assert!(words("  ;; ").is_empty());
    }

    #[test]
    fn what_only_starts_another_is_looked_through() {
        for (line, program) in [
            ("CI=1 env -i npx --yes jest a", "jest"),
            ("uv run pytest -q", "pytest"),
            ("bundle exec rspec", "rspec"),
            ("timeout -k 1 5m cargo test", "cargo"),
            ("./node_modules/.bin/mocha", "mocha"),
            ("yarn jest", "jest"),
        ] {
            let words = split(line).remove(0);
            assert_eq!(super::program(&words).unwrap().0, program, "{line}");
        }
    }

    #[test]
    fn files_that_a_command_names_are_found() {
        assert!(names("sh check.sh", "check.sh"));
        assert!(names("./run.sh && true", "run.sh"));
        assert!(names("cd sub && ./run.sh", "sub/run.sh"));
        assert!(names("pytest tests/test_a.py::test_b", "tests/test_a.py"));
        assert!(names("jest --config=my.config.js", "my.config.js"));
        assert!(names("diff <(./solve) expected.txt", "expected.txt"));
        assert!(names("sh -c 'bash ci/go.sh'", "ci/go.sh"));
        assert!(names("make test", "test"));
        assert!(names("make -C . unit", "unit"));
        assert!(names("make", "all"));
        assert!(named_paths(&check("./x.sh", Some("a/b"))).contains(&"a/b/x.sh".to_owned()));
        assert!(!names("sh /etc/x ../y", "y"));
    }

    #[test]
    fn what_is_looked_at_is_not_what_it_is_held_against() {
        assert!(!names("gcc -Wall main.c", "main.c"));
        assert!(!names("python -m mypy src/app.py", "src/app.py"));
        assert!(names("./lint.sh src/app.py", "lint.sh"));
    }
}
