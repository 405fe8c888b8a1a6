//! Many lists of names as few patterns: each as it is while they can be read, and otherwise merged
//! as far as that takes, the largest families first.

use std::collections::BTreeMap;

/// How many argument lists of one program a person reads one by one.
const LISTS: usize = 32;
/// How many files.
const FILES: usize = 8;
/// Longest argument that is written out, in bytes.
const LONGEST: usize = 1024;
/// Most arguments that are written out.
const MOST: usize = 100;

/// A pattern, and which of the lists it was made for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Merged {
    pub(super) pattern: Vec<String>,
    pub(super) members: Vec<usize>,
}

/// Merges argument lists of one program. Those with the same first argument are a family; if there
/// are still too many, all of them are one.
pub(super) fn arguments(lists: &[&[String]]) -> Vec<Merged> {
    let family = |list: &&[String]| list.first().cloned();
    let mut groups = largest_first(lists.iter().map(family), LISTS);
    if groups.len() > LISTS {
        groups = vec![(0..lists.len()).collect()];
    }
    let merged = |members: Vec<usize>| {
        let own: Vec<&[String]> = members.iter().filter_map(|at| lists.get(*at).copied()).collect();
        Merged { pattern: generalised(&own), members }
    };
    groups.into_iter().map(merged).collect()
}

/// Merges paths: those in one directory are a family, of which every file is meant. There may be
/// many directories.
pub(super) fn paths(paths: &[&str]) -> Vec<(String, Vec<usize>)> {
    let directory = |path: &&str| match path.rsplit_once('/') {
        // The root is in no directory.
        Some((_, "")) | None => None,
        Some((directory, _)) => Some(directory.to_owned()),
    };
    let groups = largest_first(paths.iter().map(directory), FILES);
    let merged = |members: Vec<usize>| {
        let first = members.first().and_then(|at| paths.get(*at)).copied().unwrap_or_default();
        let pattern = match (members.len(), first.rsplit_once('/')) {
            (2.., Some((directory, _))) => format!("{directory}/*"),
            _ => first.to_owned(),
        };
        (pattern, members)
    };
    groups.into_iter().map(merged).collect()
}

/// Groups by family as long as there are more than `most`, the largest family first; in the order
/// of their first members.
fn largest_first<F: Ord>(families: impl Iterator<Item = F>, most: usize) -> Vec<Vec<usize>> {
    let mut by_family: BTreeMap<F, Vec<usize>> = BTreeMap::new();
    let mut count = 0_usize;
    for (at, family) in families.enumerate() {
        by_family.entry(family).or_default().push(at);
        count = count.saturating_add(1);
    }
    let mut families: Vec<Vec<usize>> = by_family.into_values().collect();
    families.sort_by_key(|members| std::cmp::Reverse(members.len()));
    let mut groups = Vec::new();
    for members in families {
        if count > most && members.len() > 1 {
            count = count.saturating_sub(members.len()).saturating_add(1);
            groups.push(members);
        } else {
            groups.extend(members.into_iter().map(|at| vec![at]));
        }
    }
    groups.sort();
    groups
}

/// The tightest pattern of this form: what all agree on as it is, `*` where they differ, and `**`
/// at the end if some are longer.
fn generalised(lists: &[&[String]]) -> Vec<String> {
    let Some((first, rest)) = lists.split_first() else { return Vec::new() };
    let shortest = lists.iter().map(|list| list.len()).min().unwrap_or(0);
    let written = shortest.min(MOST);
    let mut pattern: Vec<String> = first.iter().take(written).map(|arg| literal(arg)).collect();
    for list in rest {
        for (own, other) in pattern.iter_mut().zip(list.iter()) {
            if own != other {
                "*".clone_into(own);
            }
        }
    }
    if lists.iter().any(|list| list.len() > written) {
        pattern.push("**".to_owned());
    }
    pattern
}

/// An argument as a pattern of it; one that no pattern means alone, or that nobody would read, is
/// any one argument.
fn literal(arg: &str) -> String {
    if arg.contains('*') || arg.len() > LONGEST { "*".to_owned() } else { arg.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(lists: &[&[&str]]) -> Vec<String> {
        let owned: Vec<Vec<String>> =
            lists.iter().map(|list| list.iter().map(ToString::to_string).collect()).collect();
        let lists: Vec<&[String]> = owned.iter().map(Vec::as_slice).collect();
        arguments(&lists).into_iter().map(|merged| merged.pattern.join(" ")).collect()
    }

    #[test]
    fn a_few_are_listed_one_by_one() {
        assert_eq!(
            merged(&[&["push", "origin", "a"], &["fetch"], &[]]),
            ["push origin a", "fetch", ""]
        );
    }

    #[test]
    fn many_are_merged_by_their_first_argument_and_only_the_largest() {
        let branches: Vec<String> = (0..LISTS).map(|number| format!("b{number}")).collect();
        let mut lists: Vec<Vec<&str>> =
            branches.iter().map(|branch| vec!["push", "origin", branch]).collect();
        lists.push(vec!["fetch", "origin"]);
        lists.push(vec!["fetch", "other"]);
        let lists: Vec<&[&str]> = lists.iter().map(Vec::as_slice).collect();
        assert_eq!(merged(&lists), ["push origin *", "fetch origin", "fetch other"]);
    }

    #[test]
    fn different_lengths_leave_the_end_open() {
        let files: Vec<String> = (0..LISTS).map(|number| format!("{number}.c")).collect();
        let mut lists: Vec<Vec<&str>> = files.iter().map(|file| vec!["-c", file]).collect();
        lists.push(vec!["-c", "last.c", "-o", "x"]);
        let lists: Vec<&[&str]> = lists.iter().map(Vec::as_slice).collect();
        assert_eq!(merged(&lists), ["-c * **"]);
    }

    #[test]
    fn nothing_in_common_is_any_argument() {
        let files: Vec<String> = (0..=LISTS).map(|number| format!("{number}.c")).collect();
        let lists: Vec<[&str; 1]> = files.iter().map(|file| [file.as_str()]).collect();
        let lists: Vec<&[&str]> = lists.iter().map(<[&str; 1]>::as_slice).collect();
        assert_eq!(merged(&lists[..LISTS]).len(), LISTS);
        assert_eq!(merged(&lists), ["*"]);
    }

    #[test]
    fn an_argument_that_no_pattern_means_alone_is_any_one() {
        assert_eq!(merged(&[&["add", "*.rs"]]), ["add *"]);
        let many = vec!["x"; 200];
        assert!(merged(&[&many])[0].ends_with(" x **"));
    }

    #[test]
    fn files_of_one_directory_are_merged_when_they_are_many() {
        let files: Vec<String> = (0..9).map(|number| format!("/a/b/{number}")).collect();
        let mut all: Vec<&str> = files.iter().map(String::as_str).collect();
        assert_eq!(paths(&all[..8]).len(), 8);
        all.push("/a/c");
        let patterns: Vec<_> = paths(&all).into_iter().map(|(pattern, _)| pattern).collect();
        assert_eq!(patterns, ["/a/b/*", "/a/c"]);
    }
}
