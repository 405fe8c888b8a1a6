//! read, list, glob, grep.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, symlink};
use std::time::{Duration, SystemTime};

use hands::proposal::{GrepMode, Piece, Proposal, Truncated, Unit};
use names::Digest;

use crate::client::{Hands, bash, read};

crate::tests!(
    text_has_numbered_lines,
    a_long_file_comes_in_pages,
    long_lines_are_cut_visibly,
    what_is_no_text_says_what_it_is,
    an_image_is_itself,
    what_is_missing_is_guessed,
    odd_files_hold_nobody_up,
    a_file_of_gigabytes_is_shown,
    names_of_any_bytes_are_listed,
    a_large_directory_comes_in_pages,
    files_are_found_newest_first,
    lines_are_found,
    results_of_a_search_come_in_pages,
    a_bad_pattern_is_refused,
);

fn page(path: &str, offset: u64, limit: u64) -> Proposal {
    Proposal::Read { path: path.to_owned(), offset: Some(offset), limit: Some(limit), most: None }
}

fn text_has_numbered_lines() {
    let mut hands = Hands::start();
    hands.put("a.txt", "one\r\n\ttwo\nthree");
    let outcome = hands.works(&read("a.txt"));
    assert_eq!(outcome.text(), "     1\tone\n     2\t\ttwo\n     3\tthree\n");
    assert_eq!(outcome.digest, Some(Digest::of(b"one\r\n\ttwo\nthree")));
    assert_eq!(outcome.truncated, None);
    let absolute = hands.root().join("a.txt");
    let absolute = hands.works(&read(absolute.to_str().unwrap()));
    assert_eq!(absolute, outcome);
    hands.put("home/b.txt", "");
    assert_eq!(hands.works(&read("~/b.txt")).text(), "the file is empty");
}

fn a_long_file_comes_in_pages() {
    let mut hands = Hands::start();
    let content: String = (1..=5000).map(|number| format!("line {number}\n")).collect();
    hands.put("a", &content);
    let first = hands.works(&read("a"));
    let truncated =
        |shown, next_offset| Truncated { shown, total: Some(5000), unit: Unit::Lines, next_offset };
    assert_eq!(first.truncated, Some(truncated(2000, Some(2001))));
    assert_eq!(first.digest, Some(Digest::of(content.as_bytes())));
    let some = hands.works(&page("a", 2001, 2));
    assert_eq!(some.text(), "  2001\tline 2001\n  2002\tline 2002\n");
    assert_eq!(some.truncated, Some(truncated(2, Some(2003))));
    let last = hands.works(&page("a", 4999, 10));
    assert_eq!(last.truncated, Some(truncated(2, None)));
    // No longer than whoever asked has room for, and at least a line.
    for (most, shown) in [(40, 2), (1, 1)] {
        let (path, offset) = ("a".into(), Some(7));
        let narrow = Proposal::Read { path, offset, limit: None, most: Some(most) };
        let narrow = hands.works(&narrow);
        assert_eq!(narrow.truncated, Some(truncated(shown, Some(7 + shown))), "{narrow:?}");
    }
    let beyond = hands.works(&page("a", 6000, 1));
    assert_eq!(beyond.text(), "there is no line 6000: the file has 5000 lines");
}

fn long_lines_are_cut_visibly() {
    let mut hands = Hands::start();
    hands.put("a", format!("{}\nshort\n", "x".repeat(1 << 20)));
    let outcome = hands.works(&read("a"));
    let text = outcome.text();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].ends_with("x[… 1022.0 KiB more]"), "{}", lines[0]);
    assert_eq!(lines[1], "     2\tshort");
    assert!(text.len() < 3000);
}

fn what_is_no_text_says_what_it_is() {
    let mut hands = Hands::start();
    hands.put("elf", b"\x7fELF\0\0");
    hands.put("zip", b"PK\x03\x04\0");
    hands.put("odd", b"ab\0cd");
    hands.put("latin", b"caf\xe9 is a word in some encoding of before");
    assert_eq!(hands.works(&read("elf")).text(), "elf is a program or library, 6 bytes: not text");
    assert_eq!(hands.works(&read("zip")).text(), "zip is a zip archive, 5 bytes: not text");
    assert_eq!(hands.works(&read("odd")).text(), "odd is binary data, 5 bytes: not text");
    assert!(hands.works(&read("latin")).text().contains("caf\u{fffd} is"));
}

fn an_image_is_itself() {
    let mut hands = Hands::start();
    let png = b"\x89PNG\r\n\x1a\n\0\0rest";
    let webp = b"RIFF\0\0\0\0WEBPVP8 ";
    hands.put("a.txt", png);
    hands.put("b", webp);
    for (path, media_type, data) in [("a.txt", "image/png", &png[..]), ("b", "image/webp", webp)] {
        let outcome = hands.works(&read(path));
        let image = Piece::Image { media_type: media_type.to_owned(), data: data.to_vec() };
        assert_eq!(outcome.parts, [image]);
    }
    let large = File::create(hands.root().join("large.png")).unwrap();
    large.write_all_at(png, 0).unwrap();
    large.set_len(6 << 20).unwrap();
    let text = hands.works(&read("large.png")).text();
    assert_eq!(text, "large.png is image/png, 6.0 MiB: not text");
}

fn what_is_missing_is_guessed() {
    let mut hands = Hands::start();
    hands.put("src/parser.rs", "");
    hands.put("src/other.rs", "");
    assert_eq!(
        hands.fails(&read("src/praser.rs")),
        "src/praser.rs: there is no such file; there is src/parser.rs"
    );
    assert_eq!(hands.fails(&read("x/y")), "x/y: there is no such file");
    assert_eq!(hands.fails(&read("src/other.rs/x")), "src/other.rs/x: not a directory");
}

fn odd_files_hold_nobody_up() {
    let mut hands = Hands::start();
    hands.works(&bash("mkfifo pipe; ln -s loop loop; ln -s / root; ln -s nowhere lost"));
    assert_eq!(hands.fails(&read("pipe")), "pipe is a named pipe");
    assert_eq!(hands.fails(&read("/dev/zero")), "/dev/zero is a device");
    assert!(hands.fails(&read("loop")).starts_with("loop: "));
    assert!(hands.fails(&read("lost")).starts_with("lost: there is no such file"));
    assert!(hands.fails(&read("a\0b")).contains("a\\x00b: "));
    assert!(hands.works(&read("/proc/self/status")).text().contains("Name:"));
    let list = Proposal::List { path: None, offset: None };
    assert_eq!(
        hands.works(&list).text(),
        "loop -> loop\nlost -> nowhere\npipe  (named pipe)\nroot -> /"
    );
    let grep = Proposal::Grep {
        pattern: "x".into(),
        path: None,
        glob: None,
        ignore_case: false,
        context: 0,
        mode: GrepMode::Lines,
        offset: None,
    };
    assert_eq!(hands.works(&grep).text(), "nothing matches");
}

fn a_file_of_gigabytes_is_shown() {
    let mut hands = Hands::start();
    let mut lines = "line\n".repeat(20_000_000);
    lines.truncate(90 << 20);
    hands.put("large", &lines);
    let outcome = hands.works(&page("large", 1, 1));
    assert_eq!(outcome.text(), "     1\tline\n");
    assert_eq!(outcome.digest, None, "too much to be changed by a tool");
    assert_eq!(outcome.truncated.unwrap().next_offset, Some(2));
    let sparse = File::create(hands.root().join("sparse")).unwrap();
    sparse.set_len(8 << 30).unwrap();
    assert_eq!(hands.works(&read("sparse")).text(), "sparse is binary data, 8.0 GiB: not text");
}

fn names_of_any_bytes_are_listed() {
    let mut hands = Hands::start();
    let root = hands.root().to_owned();
    for name in [&b"new\nline"[..], b"not\xffutf8", b"\x1b[31mred"] {
        File::create(root.join(std::ffi::OsStr::from_bytes(name))).unwrap();
    }
    std::fs::create_dir(root.join("sub")).unwrap();
    symlink("sub", root.join("to")).unwrap();
    let list = Proposal::List { path: Some(".".into()), offset: None };
    let expected =
        "\\x1b[31mred  0 bytes\nnew\\nline  0 bytes\nnot\\xffutf8  0 bytes\nsub/\nto -> sub";
    assert_eq!(hands.works(&list).text(), expected);
    assert_eq!(hands.works(&read(".")).text(), expected);
    assert_eq!(hands.works(&read("sub")).text(), "the directory is empty");
}

fn a_large_directory_comes_in_pages() {
    let mut hands = Hands::start();
    (0..1200).for_each(|number| hands.put(&format!("{number:04}"), ""));
    let list = |offset| Proposal::List { path: None, offset };
    let first = hands.works(&list(None));
    let next = first.truncated.unwrap();
    assert_eq!((next.shown, next.total, next.next_offset), (500, Some(1200), Some(500)));
    let last = hands.works(&list(Some(1000)));
    assert_eq!(last.text().lines().count(), 200);
    assert_eq!(last.truncated.unwrap().next_offset, None);
    assert_eq!(hands.works(&list(Some(5000))).text(), "there are only 1200");
}

fn files_are_found_newest_first() {
    let mut hands = Hands::start();
    hands.put(".gitignore", "target\n");
    for (age, path) in (0..).zip(["src/a.rs", "src/deep/b.rs", "c.rs", "target/d.rs", ".git/e.rs"])
    {
        hands.put(path, "");
        let file = File::options().write(true).open(hands.root().join(path)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(age)).unwrap();
    }
    let mut glob = |pattern: &str, path: Option<&str>| {
        let (pattern, path) = (pattern.to_owned(), path.map(str::to_owned));
        let outcome = hands.works(&Proposal::Glob { pattern, path, offset: None });
        outcome.text().replace('\n', " ")
    };
    assert_eq!(glob("*.rs", None), "c.rs src/deep/b.rs src/a.rs");
    assert_eq!(glob("src/*.rs", None), "src/a.rs");
    assert_eq!(glob("src/**/*.rs", None), "src/deep/b.rs src/a.rs");
    assert_eq!(glob("/*.rs", None), "c.rs");
    assert_eq!(glob("*.rs", Some("src/deep")), "src/deep/b.rs");
    assert_eq!(glob("*.{py,js}", None), "no file matches");
    assert_eq!(glob("*.rs", Some("target")), "target/d.rs");
}

fn grep(pattern: &str) -> Proposal {
    Proposal::Grep {
        pattern: pattern.to_owned(),
        path: None,
        glob: None,
        ignore_case: false,
        context: 0,
        mode: GrepMode::Lines,
        offset: None,
    }
}

fn lines_are_found() {
    let mut hands = Hands::start();
    hands.put(".gitignore", "skipped\n");
    hands.put("a.rs", "fn one() {}\r\nlet x = 1;\nfn two() {}\n");
    hands.put("b.py", "def one(): pass\n");
    hands.put("skipped/c.rs", "fn one() {}\n");
    hands.put("binary", b"fn one\0");
    let one = hands.works(&grep("one"));
    assert_eq!(one.text(), "a.rs:1:fn one() {}\nb.py:1:def one(): pass");
    let shown = |hands: &mut Hands, change: &dyn Fn(&mut Proposal)| {
        let mut proposal = grep(r"FN \w+\(\) \{\}$");
        if let Proposal::Grep { ignore_case, .. } = &mut proposal {
            *ignore_case = true;
        }
        change(&mut proposal);
        hands.works(&proposal).text()
    };
    assert_eq!(shown(&mut hands, &|_| {}), "a.rs:1:fn one() {}\na.rs:3:fn two() {}");
    let context = shown(&mut hands, &|proposal| {
        if let Proposal::Grep { context, glob, .. } = proposal {
            (*context, *glob) = (1, Some("*.rs".into()));
        }
    });
    assert_eq!(context, "a.rs:1:fn one() {}\na.rs-2-let x = 1;\na.rs:3:fn two() {}");
    let count = shown(&mut hands, &|proposal| {
        if let Proposal::Grep { mode, .. } = proposal {
            *mode = GrepMode::Count;
        }
    });
    assert_eq!(count, "a.rs:2");
    let files = shown(&mut hands, &|proposal| {
        if let Proposal::Grep { mode, path, .. } = proposal {
            (*mode, *path) = (GrepMode::Files, Some("a.rs".into()));
        }
    });
    assert_eq!(files, "a.rs");
}

fn results_of_a_search_come_in_pages() {
    let mut hands = Hands::start();
    let content: String = (0..450).map(|number| format!("match {number}\n")).collect();
    hands.put("a", content);
    let mut found = Vec::new();
    let mut next = Some(0);
    while let Some(from) = next {
        let mut proposal = grep("match");
        if let Proposal::Grep { offset, .. } = &mut proposal {
            *offset = Some(from);
        }
        let outcome = hands.works(&proposal);
        found.extend(outcome.text().lines().map(str::to_owned));
        next = outcome.truncated.and_then(|truncated| truncated.next_offset);
    }
    assert_eq!(found.len(), 450);
    assert_eq!(found[449], "a:450:match 449");
}

fn a_bad_pattern_is_refused() {
    let mut hands = Hands::start();
    assert!(hands.fails(&grep("(")).starts_with("the pattern is not a regular expression"));
    let large = hands.fails(&grep("(a{1000}){1000}"));
    assert!(large.contains("size limit"), "{large}");
    let glob = Proposal::Glob { pattern: "[".into(), path: None, offset: None };
    assert!(hands.fails(&glob).starts_with("the pattern \"[\": "));
}
