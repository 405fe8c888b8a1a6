//! Where a link leads, found without following it.

use std::io;

use crate::WorkspaceRoot;

/// More links than this on one way are taken for a circle: `ELOOP` of path_resolution(7).
const LINKS_MAX: usize = 40;

/// What a lookup finds at a path of the workspace as the run left it.
pub(crate) enum Seen {
    Link(Vec<u8>),
    Other,
}

/// The end of a way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leads {
    /// To this path of the workspace, empty for its root; nothing need be there.
    Inside(Vec<u8>),
    /// Out of it, or round in circles.
    Outside,
}

/// Where `target`, read at the directory `from`, leads. `root` is the absolute path at which the
/// workspace is seen. A step up that passes a link is resolved as the kernel does, not as text.
pub(crate) fn resolve(
    look: &mut dyn FnMut(&[u8]) -> io::Result<Seen>,
    root: &WorkspaceRoot,
    from: &[u8],
    target: &[u8],
) -> io::Result<Leads> {
    let mut way = Way { at: from.to_vec(), todo: Vec::new(), links: 0 };
    if !way.follow(root, target) {
        return Ok(Leads::Outside);
    }
    while let Some(name) = way.todo.pop() {
        match name.as_slice() {
            b"" | b"." => continue,
            b".." if way.at.is_empty() => return Ok(Leads::Outside),
            b".." => way.leave(),
            name => way.enter(name),
        }
        if name == b".." {
            continue;
        }
        if let Seen::Link(target) = look(&way.at)? {
            way.leave();
            if !way.follow(root, &target) {
                return Ok(Leads::Outside);
            }
        }
    }
    Ok(Leads::Inside(way.at))
}

struct Way {
    at: Vec<u8>,
    /// Components to come, the next one last.
    todo: Vec<Vec<u8>>,
    links: usize,
}

impl Way {
    /// Puts a link's target before what is to come; false if it leads outside.
    fn follow(&mut self, root: &WorkspaceRoot, target: &[u8]) -> bool {
        self.links += 1;
        if self.links > LINKS_MAX {
            return false;
        }
        let rest = if target.starts_with(b"/") {
            self.at.clear();
            match root.strip(target) {
                Some(rest) => rest,
                None => return false,
            }
        } else {
            target
        };
        self.todo.extend(rest.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec));
        true
    }

    fn enter(&mut self, name: &[u8]) {
        if !self.at.is_empty() {
            self.at.push(b'/');
        }
        self.at.extend_from_slice(name);
    }

    fn leave(&mut self) {
        let slash = self.at.iter().rposition(|byte| *byte == b'/');
        self.at.truncate(slash.unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn leads(links: &[(&str, &str)], from: &str, target: &str) -> Leads {
        let links: HashMap<_, _> = links.iter().copied().collect();
        let mut look = |path: &[u8]| {
            let found = links.get(str::from_utf8(path).unwrap());
            Ok(found.map_or(Seen::Other, |target| Seen::Link(target.as_bytes().to_vec())))
        };
        let root = WorkspaceRoot::new("/home/me/project".as_ref());
        resolve(&mut look, &root, from.as_bytes(), target.as_bytes()).unwrap()
    }

    fn inside(path: &str) -> Leads {
        Leads::Inside(path.as_bytes().to_vec())
    }

    #[test]
    fn plain_targets() {
        assert_eq!(leads(&[], "a/b", "c"), inside("a/b/c"));
        assert_eq!(leads(&[], "a/b", "../../x"), inside("x"));
        assert_eq!(leads(&[], "a/b", ".././/.."), inside(""));
        assert_eq!(leads(&[], "a/b", "../../.."), Leads::Outside);
        assert_eq!(leads(&[], "", "../project/x"), Leads::Outside);
        assert_eq!(leads(&[], "", "/etc/passwd"), Leads::Outside);
        assert_eq!(leads(&[], "a", "/home/me/project/x"), inside("x"));
        assert_eq!(leads(&[], "a", "/home/me/project"), inside(""));
        assert_eq!(leads(&[], "a", "/home/me/project/../x"), Leads::Outside);
        assert_eq!(leads(&[], "a", "/home/me/project2/x"), Leads::Outside);
    }

    #[test]
    fn targets_through_links() {
        let up = [("a/b/x", "../..")];
        assert_eq!(leads(&up, "a/b", "x/f"), inside("f"));
        assert_eq!(leads(&up, "a/b", "x/../f"), Leads::Outside);
        assert_eq!(leads(&[("out", "/etc")], "", "out/passwd"), Leads::Outside);
        assert_eq!(leads(&[("a", "b"), ("b", "a")], "", "a"), Leads::Outside);
        assert_eq!(leads(&[("a", "b/c")], "", "a/../d"), inside("b/d"));
    }
}
