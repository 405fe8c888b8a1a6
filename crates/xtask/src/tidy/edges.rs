//! Which crate may depend on which: the table of ARCHITECTURE.md, as data.

use super::graph::{Graph, Package};

/// The crates of the product from the ground up. A crate depends on crates of lower rows only.
const LAYERS: &[&[&str]] = &[
    &["lifecycle", "names"],
    &["api", "sys", "policy", "contract"],
    &["confine", "hands", "ledger"],
    &["broker", "verifier"],
    &["sandbox", "workspace", "egress", "git-guard", "models"],
    &["agent"],
    &["run", "corpus"],
    &["cli"],
    &["app"],
];

/// Crates that exist for development and are no part of the product.
const DEVELOPMENT: &[&str] = &["testkit", "e2e", "xtask"];

const ASYNC: &[&str] = &["tokio", "async-std", "smol", "futures-executor"];
const SQL: &[&str] = &["sqlx", "rusqlite", "postgres", "tokio-postgres", "diesel"];
const HTTP: &[&str] = &["hyper", "reqwest", "ureq", "axum", "h2", "curl"];
const TLS: &[&str] = &["rustls", "openssl", "native-tls", "boring"];
/// What can ask the kernel for something.
const KERNEL: &[&str] = &["rustix", "nix", "sys", "landlock", "seccompiler"];
const CLOCK: &[&str] = &["jiff", "chrono", "time"];

/// What a crate must not reach, directly or through others.
struct Ban {
    package: &'static str,
    /// The property that this keeps.
    so_that: &'static str,
    reach: &'static [&'static [&'static str]],
}

const BANS: &[Ban] = &[
    Ban {
        package: "names",
        so_that: "a name is checked without I/O",
        reach: &[ASYNC, SQL, HTTP, TLS, KERNEL],
    },
    Ban {
        package: "lifecycle",
        so_that: "where a run stands depends on what happened to it and nothing else",
        reach: &[ASYNC, SQL, HTTP, TLS, KERNEL, CLOCK],
    },
    Ban {
        package: "policy",
        so_that: "a verdict depends on its input only",
        reach: &[ASYNC, SQL, HTTP, TLS, KERNEL, CLOCK],
    },
    Ban {
        package: "contract",
        so_that: "a verdict on evidence depends on the evidence only",
        reach: &[ASYNC, SQL, HTTP, TLS, KERNEL, CLOCK],
    },
    Ban {
        package: "api",
        so_that: "requests and answers have no behaviour",
        reach: &[
            ASYNC,
            SQL,
            HTTP,
            TLS,
            KERNEL,
            &["ledger", "broker", "workspace", "sandbox", "confine", "run"],
        ],
    },
    Ban {
        package: "sys",
        so_that: "a system call knows no policy",
        reach: &[ASYNC, SQL, HTTP, TLS, &["policy"]],
    },
    Ban {
        package: "ledger",
        so_that: "the verifier is small",
        reach: &[
            ASYNC,
            SQL,
            HTTP,
            TLS,
            &[
                "policy",
                "broker",
                "confine",
                "sandbox",
                "workspace",
                "run",
                "seccompiler",
                "landlock",
            ],
        ],
    },
    Ban {
        package: "verifier",
        so_that: "what a receipt is judged by is files, and nothing else",
        reach: &[
            ASYNC,
            SQL,
            HTTP,
            TLS,
            CLOCK,
            &["policy", "broker", "confine", "sandbox", "workspace", "run"],
        ],
    },
    Ban {
        package: "broker",
        so_that: "who mints permits parses nothing hostile",
        reach: &[
            ASYNC,
            SQL,
            HTTP,
            TLS,
            &["confine", "sandbox", "workspace", "run", "seccompiler", "landlock"],
        ],
    },
    Ban {
        package: "confine",
        so_that: "the privileged child is small and knows no policy",
        reach: &[ASYNC, SQL, HTTP, TLS, &["policy", "ledger", "broker", "sandbox"]],
    },
    Ban {
        package: "hands",
        so_that: "what works inside the sandbox is small and is trusted with nothing",
        reach: &[
            ASYNC,
            SQL,
            HTTP,
            TLS,
            &["policy", "ledger", "broker", "confine", "sandbox", "workspace", "run"],
        ],
    },
    Ban {
        package: "sandbox",
        so_that: "nothing is awaited between fork and exec",
        reach: &[ASYNC, SQL, HTTP, TLS],
    },
    Ban {
        package: "egress",
        so_that: "the network gate starts nothing and opens no files",
        reach: &[SQL, &["confine", "sandbox", "workspace", "sys", "seccompiler", "landlock"]],
    },
    Ban {
        package: "git-guard",
        so_that: "a push is judged apart from whoever carries it",
        reach: &[
            SQL,
            TLS,
            &["confine", "sandbox", "workspace", "egress", "seccompiler", "landlock"],
        ],
    },
    Ban {
        package: "workspace",
        so_that: "a change set is read and applied without anything of the sandbox",
        reach: &[ASYNC, SQL, HTTP, TLS, &["confine", "sandbox", "seccompiler", "landlock"]],
    },
    Ban {
        package: "models",
        so_that: "who talks to a provider has no tools and no policy",
        reach: &[
            SQL,
            &[
                "policy",
                "ledger",
                "broker",
                "confine",
                "sandbox",
                "egress",
                "workspace",
                "sys",
                "seccompiler",
                "landlock",
            ],
        ],
    },
    Ban {
        package: "agent",
        so_that: "Loop's own agent decides nothing and can be replaced by any other",
        reach: &[
            SQL,
            &["policy", "ledger", "broker", "confine", "sandbox", "egress", "workspace", "run"],
        ],
    },
    Ban {
        package: "run",
        so_that: "the story has no text for people and no server",
        // `hyper` is reached through `models`, as a client.
        reach: &[SQL, &["clap", "axum", "reqwest", "cli"]],
    },
    Ban {
        package: "corpus",
        so_that: "the attacks know nothing of what they attack",
        reach: &[&["policy", "broker", "confine", "sandbox", "workspace", "run", "sys"]],
    },
    Ban {
        package: "cli",
        so_that: "a client is privileged in nothing",
        reach: &[&[
            "policy",
            "broker",
            "confine",
            "sandbox",
            "workspace",
            "run",
            "sys",
            "seccompiler",
            "landlock",
        ]],
    },
];

/// Crates that depend on one that is not below them, or that the table does not know.
pub(super) fn upward(graph: &Graph) -> Vec<String> {
    let mut findings = Vec::new();
    for package in graph.members().filter(|package| !is_development(package)) {
        let Some(layer) = layer(package) else {
            findings.push(format!("`{}` has no place in the table of layers", package.name));
            continue;
        };
        let above = graph
            .direct(package)
            .filter(|linked| self::layer(linked).is_some_and(|other| other >= layer));
        findings.extend(above.map(|linked| {
            format!("`{}` depends on `{}`, which is not below it", package.name, linked.name)
        }));
    }
    findings
}

/// Crates that reach what they must not contain.
pub(super) fn forbidden(graph: &Graph) -> Vec<String> {
    let mut findings = Vec::new();
    for ban in BANS {
        let Some(package) = graph.members().find(|package| package.name == ban.package) else {
            findings.push(format!("there is no crate `{}`; strike it from the table", ban.package));
            continue;
        };
        let ways = ban.reach.concat().into_iter().filter_map(|banned| graph.way(package, banned));
        findings.extend(ways.map(|way| {
            format!(
                "`{}` reaches {}; it must not, so that {}",
                ban.package,
                way.join(" → "),
                ban.so_that
            )
        }));
    }
    findings
}

/// Crates of the product that link one made for tests.
pub(super) fn product_on_tests(graph: &Graph) -> Vec<String> {
    let product = graph.members().filter(|package| !is_development(package));
    let reached = product.flat_map(|package| {
        DEVELOPMENT
            .iter()
            .filter(|name| graph.way(package, name).is_some())
            .map(move |name| (package, *name))
    });
    reached.map(|(package, name)| format!("`{}` links `{name}`", package.name)).collect()
}

fn is_development(package: &Package) -> bool {
    DEVELOPMENT.contains(&package.name.as_str())
}

fn layer(package: &Package) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&package.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upward_edge_is_found() {
        let found = upward(&Graph::of(&["policy: ledger", "ledger:"]));
        assert_eq!(found, ["`policy` depends on `ledger`, which is not below it"]);
    }

    #[test]
    fn neighbours_of_one_layer_do_not_depend_on_each_other() {
        assert_eq!(upward(&Graph::of(&["sandbox: workspace", "workspace:"])).len(), 1);
    }

    #[test]
    fn a_crate_outside_the_table_is_found() {
        assert_eq!(
            upward(&Graph::of(&["extra:"])),
            ["`extra` has no place in the table of layers"]
        );
    }

    #[test]
    fn what_a_crate_must_not_contain_is_found_through_others() {
        let graph = Graph::of(&["policy: names", "names: tokio", "+tokio MIT"]);
        let found = forbidden(&graph);
        assert!(found.contains(&"`policy` reaches names → tokio; it must not, so that a verdict depends on its input only".to_owned()));
    }

    #[test]
    fn the_verifier_reaches_no_sandbox() {
        let graph = Graph::of(&["ledger: sandbox", "sandbox: seccompiler", "+seccompiler MIT"]);
        let found = forbidden(&graph);
        assert!(
            found.iter().any(|finding| finding.contains("`ledger` reaches sandbox → seccompiler;"))
        );
    }

    #[test]
    fn a_product_crate_on_a_test_crate_is_found() {
        let graph = Graph::of(&["run: names", "names: testkit", "testkit:", "e2e: testkit"]);
        assert_eq!(product_on_tests(&graph), ["`names` links `testkit`", "`run` links `testkit`"]);
    }

    #[test]
    fn every_product_crate_with_a_boundary_has_a_row() {
        let rows: Vec<_> = BANS.iter().map(|ban| ban.package).collect();
        let missing: Vec<_> = LAYERS
            .concat()
            .into_iter()
            .filter(|name| *name != "app" && !rows.contains(name))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
