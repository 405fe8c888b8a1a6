//! The dependency graph, as `cargo metadata` tells it. Development dependencies are no part of it: they are not linked.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::program::{self, cargo};

/// Packages and what they link, for the present platform.
#[derive(Default)]
pub(super) struct Graph {
    packages: BTreeMap<String, Package>,
    /// Ids of the packages of this workspace.
    members: BTreeSet<String>,
}

pub(super) struct Package {
    pub(super) name: String,
    pub(super) licence: Option<String>,
    links: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<RawPackage>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct RawPackage {
    id: String,
    name: String,
    license: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

impl Graph {
    /// Asks cargo about this checkout.
    pub(super) fn read() -> Result<Self> {
        let mut metadata = cargo();
        metadata.args(["metadata", "--locked", "--format-version", "1", "--filter-platform"]);
        metadata.arg(program::host()?);
        Self::parse(&program::read(&mut metadata)?)
    }

    fn parse(metadata: &[u8]) -> Result<Self> {
        let metadata: Metadata =
            serde_json::from_slice(metadata).context("`cargo metadata` has another form")?;
        let mut links: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for node in metadata.resolve.nodes {
            let linked = node
                .deps
                .into_iter()
                .filter(|dependency| dependency.dep_kinds.iter().any(is_linked));
            links.insert(node.id, linked.map(|dependency| dependency.pkg).collect());
        }
        let packages = metadata.packages.into_iter().map(|raw| {
            let links = links.remove(&raw.id).unwrap_or_default();
            (raw.id, Package { name: raw.name, licence: raw.license, links })
        });
        Ok(Self {
            packages: packages.collect(),
            members: metadata.workspace_members.into_iter().collect(),
        })
    }

    /// The packages of this workspace.
    pub(super) fn members(&self) -> impl Iterator<Item = &Package> {
        self.members.iter().filter_map(|id| self.packages.get(id))
    }

    /// The packages of others.
    pub(super) fn foreign(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|(id, _)| !self.members.contains(*id))
            .map(|(_, package)| package)
    }

    /// What a package links itself.
    pub(super) fn direct<'a>(&'a self, package: &'a Package) -> impl Iterator<Item = &'a Package> {
        package.links.iter().filter_map(|id| self.packages.get(id))
    }

    /// How a package comes to link another: the names on a shortest way, first and last included.
    pub(super) fn way<'a>(&'a self, from: &'a Package, to: &str) -> Option<Vec<&'a str>> {
        let mut seen = BTreeSet::new();
        let mut ways: Vec<Vec<&Package>> = self.direct(from).map(|package| vec![package]).collect();
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                let Some(last) = way.last() else { continue };
                if last.name == to {
                    return Some(way.iter().map(|package| package.name.as_str()).collect());
                }
                if seen.insert(last.name.as_str()) {
                    longer.extend(self.direct(last).map(|next| [way.as_slice(), &[next]].concat()));
                }
            }
            ways = longer;
        }
        None
    }
}

/// A development dependency is not linked; a build dependency runs when we build, which is as bad.
fn is_linked(kind: &Kind) -> bool {
    kind.kind.as_deref() != Some("dev")
}

#[cfg(test)]
impl Graph {
    /// A graph of members (`name: linked linked`) and foreign packages (`+name licence`), for tests.
    pub(super) fn of(lines: &[&str]) -> Self {
        let mut graph = Self::default();
        for line in lines {
            if let Some((name, licence)) =
                line.strip_prefix('+').and_then(|line| line.split_once(' '))
            {
                let package =
                    Package { name: name.into(), licence: Some(licence.into()), links: Vec::new() };
                graph.packages.insert(name.into(), package);
            } else if let Some((name, links)) = line.split_once(':') {
                let links = links.split_whitespace().map(str::to_owned).collect();
                graph
                    .packages
                    .insert(name.into(), Package { name: name.into(), licence: None, links });
                graph.members.insert(name.into());
            }
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn development_dependencies_are_no_part_of_it() {
        let metadata = br#"{
            "packages": [{"id": "a 1", "name": "a", "license": null}, {"id": "b 1", "name": "b", "license": "MIT"}],
            "workspace_members": ["a 1"],
            "resolve": {"nodes": [{"id": "a 1", "deps": [{"pkg": "b 1", "dep_kinds": [{"kind": "dev"}]}]}]}
        }"#;
        let graph = Graph::parse(metadata).unwrap();
        let a = graph.members().next().unwrap();
        assert!(graph.way(a, "b").is_none());
        assert_eq!(graph.foreign().count(), 1);
    }

    #[test]
    fn the_way_is_told() {
        let graph = Graph::of(&["a: b", "b: c", "c:"]);
        let a = graph.members().next().unwrap();
        assert_eq!(graph.way(a, "c").unwrap(), ["b", "c"]);
    }
}
