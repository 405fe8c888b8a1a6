//! Any operations in an overlay: the change set says what a comparison of two full trees says.

use proptest::prelude::*;
use workspace::{ChangeSet, Kind, Node, Protected, Special, read_changes};

use crate::overlay::Overlay;
use crate::tree::{Differences, Held, Op, compare, take_down};

/// Operations that make a base: its owner may read all of it.
pub(crate) fn before() -> impl Strategy<Value = Vec<Op>> {
    let mut ops: Vec<Op> =
        ["a", "a/a", "a/b", "a/b/a", "b", "b/a"].map(|dir| Op::Mkdir(dir.to_owned())).into();
    for (n, dir) in ["", "a/", "a/a/", "a/b/", "a/b/a/", "b/"].into_iter().enumerate() {
        ops.push(Op::Write(format!("{dir}c"), format!("{n}\n")));
    }
    some(Op::Tame).prop_map(move |more| [ops.clone(), more].concat())
}

/// Operations of a run.
pub(crate) fn during() -> impl Strategy<Value = Vec<Op>> {
    some(Op::Chmod)
}

fn some(chmod: fn(String, u32) -> Op) -> impl Strategy<Value = Vec<Op>> {
    let step = prop_oneof![4 => op(chmod).prop_map(|op| vec![op]), 1 => replacement()];
    prop::collection::vec(step, 0..20).prop_map(|steps| steps.concat())
}

/// Something else in the place of what is there.
fn replacement() -> impl Strategy<Value = Vec<Op>> {
    let fill = |path: &str, names: Vec<&str>| {
        names
            .into_iter()
            .map(|name| Op::Write(format!("{path}/{name}"), format!("{name}\n")))
            .collect()
    };
    let dir = (path(), prop::sample::subsequence(vec!["a", "b", "c"], 0..3)).prop_map(
        move |(path, names)| {
            let files: Vec<Op> = fill(&path, names);
            let gone = vec![Op::RemoveAll(path.clone()), Op::Remove(path.clone())];
            [gone, vec![Op::Mkdir(path)], files].concat()
        },
    );
    let file = path()
        .prop_map(|path| vec![Op::RemoveAll(path.clone()), Op::Write(path, "file\n".to_owned())]);
    prop_oneof![3 => dir, 1 => file]
}

fn path() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        8 => prop::sample::select(vec!["a", "b", "c"]),
        1 => prop::sample::select(vec!["d%", ".git", "e\n", "a-"]),
    ];
    prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

fn op(chmod: fn(String, u32) -> Op) -> impl Strategy<Value = Op> {
    let text = "[ab\n]{0,12}";
    let mode = prop::sample::select(vec![0o000, 0o400, 0o600, 0o644, 0o755, 0o700, 0o4755]);
    let target =
        prop::sample::select(vec!["a", "../b", "../../..", "/etc/passwd", "b/../c", "a/b"]);
    prop_oneof![
        6 => (path(), text).prop_map(|(path, text)| Op::Write(path, text)),
        2 => (path(), text).prop_map(|(path, text)| Op::Append(path, text)),
        6 => path().prop_map(Op::Mkdir),
        2 => path().prop_map(Op::Remove),
        2 => path().prop_map(Op::RemoveAll),
        4 => (path(), path()).prop_map(|(from, to)| Op::Rename(from, to)),
        2 => (target, path()).prop_map(|(target, path)| Op::Symlink(target.to_owned(), path)),
        1 => (path(), path()).prop_map(|(from, to)| Op::HardLink(from, to)),
        2 => (path(), mode).prop_map(move |(path, mode)| chmod(path, mode)),
        1 => path().prop_map(Op::Touch),
        1 => path().prop_map(Op::Fifo),
        1 => path().prop_map(Op::Socket),
        1 => (path(), 0u64..20).prop_map(|(path, size)| Op::Truncate(path, size)),
    ]
}

/// The change set as differences, with every rename as the two changes that it joins.
fn differences(set: &ChangeSet) -> Differences {
    let mut all = Differences::new();
    for entry in set.entries() {
        let (before, after) = (entry.before.as_ref().map(held), entry.after.as_ref().map(held));
        let path = entry.path.as_bytes().to_vec();
        if let Kind::Rename { from } = &entry.kind {
            all.insert(from.as_bytes().to_vec(), (before, None));
            all.insert(path, (None, after));
        } else {
            all.insert(path, (before, after));
        }
    }
    all
}

pub(crate) fn held(node: &Node) -> Held {
    match node {
        Node::File { mode, digest, .. } => Held::File {
            executable: mode.is_executable(),
            set_id: mode.is_set_id(),
            content: *digest,
        },
        Node::Link { target } => Held::Link(target.as_bytes().to_vec()),
        Node::Dir { .. } => Held::Dir,
        Node::Special { what } => Held::Special(
            match what {
                Special::Fifo => "fifo",
                Special::Socket => "socket",
                Special::Device => "device",
                Special::Unreadable => "unreadable",
            }
            .to_owned(),
        ),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn says_what_a_full_comparison_says(before in before(), during in during()) {
        let overlay = Overlay::over(&before);
        let seen = overlay.perform(&during);
        let set = read_changes(&overlay.upper(), &overlay.base(), &Protected::default()).unwrap();
        prop_assert_eq!(differences(&set), compare(&take_down(&overlay.base()), &seen));
        let bytes = set.to_bytes().unwrap();
        prop_assert_eq!(ChangeSet::parse(&bytes).unwrap(), set);
    }
}
