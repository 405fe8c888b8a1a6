//! Booby traps: what each row of the table of settings does to bare git, that it does nothing here,
//! and that the person's own setting of that name still works.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use git_guard::host::settings::{self, Yours};

use crate::scene::{Ran, Scene, gits};

/// By what a trap is seen to have sprung.
#[derive(Clone, Copy)]
enum Sprung {
    /// The program ran.
    Fires,
    /// Git says this.
    Says(&'static str),
    /// Git does not say this.
    Hides(&'static str),
}

use Sprung::{Fires, Hides, Says};

struct Trap {
    /// The row of the table.
    row: &'static str,
    /// Settings: of the repository, and for the neighbour the person's own.
    config: &'static [(&'static str, &'static str)],
    /// What else is there in any case, because the person meets the same repository.
    plant: fn(&Scene),
    command: &'static [&'static str],
    input: &'static str,
    sprung: Sprung,
}

fn nothing(_: &Scene) {}

const fn fires(
    row: &'static str,
    config: &'static [(&'static str, &'static str)],
    command: &'static [&'static str],
) -> Trap {
    Trap { row, config, plant: nothing, command, input: "", sprung: Fires }
}

impl Trap {
    const fn with(mut self, plant: fn(&Scene)) -> Self {
        self.plant = plant;
        self
    }

    const fn told(mut self, input: &'static str) -> Self {
        self.input = input;
        self
    }

    const fn seen(mut self, sprung: Sprung) -> Self {
        self.sprung = sprung;
        self
    }
}

const COMMIT: &[&str] = &["commit", "-q", "--allow-empty", "-m", "x"];
const SIGNED: &[&str] = &["commit", "-q", "-S", "--allow-empty", "-m", "x"];
const FILL: &[&str] = &["credential", "fill"];
const ASKED: &str = "protocol=https\nhost=example.com\n\n";

fn attributes(scene: &Scene) {
    scene.write(".gitattributes", "*.md diff=x filter=x merge=x trap=sprung\n");
}

fn diverged(scene: &Scene) {
    attributes(scene);
    scene.git_here(&["stash", "-q"]);
    scene.git_here(&["checkout", "-q", "other"]);
    scene.write("README.md", "zero\n");
    scene.commit("Other");
    scene.git_here(&["checkout", "-q", "main"]);
    attributes(scene);
}

fn hook(scene: &Scene) {
    scene.executable("project/.git/hooks/pre-commit", "FIRE < /dev/null");
}

fn hooks_elsewhere(scene: &Scene) {
    scene.executable("outside/hooks/pre-commit", "FIRE < /dev/null");
}

fn extra(scene: &Scene) {
    scene.put("outside/extra", "[diff]\n\texternal = FIRE\n");
}

fn outside(scene: &Scene) {
    scene.put("outside/secret", "secret words\n");
}

fn submodule(scene: &Scene) {
    scene.git(&["init", "-q", "outside/part"], "");
    scene.put("outside/part/file", "part\n");
    scene.git(&["add", "."], "outside/part");
    scene.git(&["commit", "-q", "-m", "Part"], "outside/part");
    let from = scene.text("ROOT/outside/part");
    scene.git_here(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &from, "part"]);
    scene.git_here(&["commit", "-q", "-m", "Take part"]);
    scene.put("project/part/file", "another length\n");
}

fn traps() -> Vec<Trap> {
    let diff: &[&str] = &["diff", "HEAD"];
    vec![
        // Keys that run something.
        fires("alias.*", &[("alias.zz", "!FIRE < /dev/null")], &["zz"]),
        fires("core.askPass", &[("core.askPass", "FIRE")], FILL).told(ASKED),
        fires("core.editor", &[("core.editor", "FIRE <")], &["commit", "--allow-empty"]),
        fires("core.fsmonitor", &[("core.fsmonitor", "FIRE")], &["status"]),
        fires("core.gitProxy", &[("core.gitProxy", "FIRE")], &["ls-remote", "git://localhost/x"]),
        fires("core.hooksPath", &[("core.hooksPath", "ROOT/outside/hooks")], COMMIT)
            .with(hooks_elsewhere),
        fires("core.pager", &[("core.pager", "FIRE")], &["log"]),
        fires("pager.*", &[("pager.log", "FIRE")], &["log"]),
        fires(
            "core.sshCommand",
            &[("core.sshCommand", "FIRE")],
            &["ls-remote", "ssh://localhost/x"],
        ),
        fires("credential.helper", &[("credential.helper", "!FIRE;:")], FILL).told(ASKED),
        fires("credential.*", &[("credential.https://example.com.helper", "!FIRE;:")], FILL)
            .told(ASKED),
        fires("diff.external", &[("diff.external", "FIRE")], diff),
        fires("diff.*.command", &[("diff.x.command", "FIRE")], diff).with(attributes),
        fires("diff.*.textconv", &[("diff.x.textconv", "FIRE <")], diff).with(attributes),
        fires(
            "diff.tool",
            &[("diff.tool", "x"), ("difftool.x.cmd", "FIRE")],
            &["difftool", "-y", "HEAD"],
        ),
        fires(
            "diff.guitool",
            &[("diff.guitool", "x"), ("difftool.x.cmd", "FIRE")],
            &["difftool", "-g", "-y", "HEAD"],
        ),
        fires(
            "difftool.*.cmd",
            &[("difftool.x.cmd", "FIRE")],
            &["difftool", "-y", "-t", "x", "HEAD"],
        ),
        fires(
            "difftool.*.path",
            &[("difftool.meld.path", "FIRE")],
            &["difftool", "-y", "-t", "meld", "HEAD"],
        ),
        fires("filter.*.clean", &[("filter.x.clean", "FIRE")], diff).with(attributes),
        fires("filter.*.process", &[("filter.x.process", "FIRE")], diff).with(attributes),
        fires(
            "filter.*.smudge",
            &[("filter.x.smudge", "FIRE")],
            &["cat-file", "--filters", "HEAD:README.md"],
        )
        .with(attributes),
        fires(
            "merge.*.driver",
            &[("merge.x.driver", "FIRE")],
            &["merge-tree", "--write-tree", "main", "other"],
        )
        .with(diverged),
        fires("gpg.program", &[("gpg.program", "FIRE")], SIGNED),
        fires("gpg.*.program", &[("gpg.format", "x509"), ("gpg.x509.program", "FIRE")], SIGNED),
        fires(
            "gpg.ssh.defaultKeyCommand",
            &[("gpg.format", "ssh"), ("gpg.ssh.defaultKeyCommand", "FIRE")],
            SIGNED,
        ),
        fires(
            "interactive.diffFilter",
            &[("interactive.diffFilter", "FIRE"), ("color.ui", "always")],
            &["add", "-p"],
        )
        .told("q\n"),
        fires(
            "man.*.cmd",
            &[("man.viewer", "x"), ("man.x.cmd", "FIRE < /dev/null;")],
            &["help", "-m", "log"],
        ),
        fires(
            "man.*.path",
            &[("man.viewer", "man"), ("man.man.path", "FIRE")],
            &["help", "-m", "log"],
        ),
        fires("sequence.editor", &[("sequence.editor", "FIRE <")], &["rebase", "-i", "HEAD~1"])
            .with(|scene| drop(scene.git_here(&["stash", "-q"]))),
        fires("tar.*.command", &[("tar.x.command", "FIRE")], &["archive", "--format=x", "HEAD"]),
        fires("trailer.*.command", &[("trailer.x.command", "FIRE #")], &["interpret-trailers"])
            .told("m\n"),
        fires(
            "trailer.*.cmd",
            &[("trailer.x.cmd", "FIRE < /dev/null;:")],
            &["interpret-trailers", "--trailer", "x=1"],
        )
        .told("m\n"),
        fires(
            "remote.*.uploadpack",
            &[("remote.o.url", "ROOT/project"), ("remote.o.uploadpack", "FIRE")],
            &["ls-remote", "o"],
        ),
        fires(
            "remote.*.receivepack",
            &[("remote.o.url", "ROOT/project"), ("remote.o.receivepack", "FIRE")],
            &["push", "o", "HEAD:refs/heads/n"],
        ),
        fires(
            "remote.*.vcs",
            &[("remote.o.url", "x"), ("remote.o.vcs", "trap")],
            &["ls-remote", "o"],
        )
        .with(|scene| scene.script("git-remote-trap", "FIRE < /dev/null")),
        fires(
            "remote.*.url",
            &[("remote.o.url", "ext::FIRE"), ("protocol.ext.allow", "always")],
            &["ls-remote", "o"],
        ),
        fires("protocol.*.allow", &[("protocol.ext.allow", "always")], &["ls-remote", "ext::FIRE"]),
        fires("protocol.allow", &[("protocol.allow", "always")], &["ls-remote", "ext::FIRE"]),
        fires(
            "url.*.insteadOf",
            &[
                ("url.ext::FIRE #.insteadOf", "https://example.com/"),
                ("protocol.ext.allow", "always"),
            ],
            &["ls-remote", "https://example.com/x"],
        ),
        fires(
            "url.*.pushInsteadOf",
            &[
                ("url.ext::FIRE #.pushInsteadOf", "https://example.com/"),
                ("protocol.ext.allow", "always"),
            ],
            &["push", "https://example.com/x", "HEAD:refs/heads/n"],
        ),
        fires(
            "web.browser",
            &[("web.browser", "x"), ("browser.x.cmd", "FIRE < /dev/null;:")],
            &["web--browse", "http://localhost/"],
        ),
        fires(
            "browser.*.cmd",
            &[("browser.x.cmd", "FIRE < /dev/null;:")],
            &["web--browse", "-t", "x", "http://localhost/"],
        ),
        fires(
            "browser.*.path",
            &[("browser.w3m.path", "FIRE")],
            &["web--browse", "-t", "w3m", "http://localhost/"],
        ),
        fires(
            "submodule.*.update",
            &[("submodule.part.update", "!FIRE < /dev/null;:")],
            &["submodule", "update", "part"],
        )
        .with(|scene| {
            submodule(scene);
            scene.git(&["commit", "-q", "--allow-empty", "-m", "More"], "project/part");
        }),
        // Keys that lead elsewhere.
        fires("include.path", &[("include.path", "ROOT/outside/extra")], diff).with(extra),
        fires("includeIf.*.path", &[("includeIf.onbranch:main.path", "ROOT/outside/extra")], diff)
            .with(extra),
        fires("core.worktree", &[("core.worktree", "ROOT/outside")], &["ls-files", "--others"])
            .with(outside)
            .seen(Says("secret")),
        fires(
            "core.attributesFile",
            &[("core.attributesFile", "ROOT/outside/attributes")],
            &["check-attr", "-a", "README.md"],
        )
        .with(|scene| scene.put("outside/attributes", "* trap=sprung\n"))
        .seen(Says("sprung")),
        fires("core.excludesFile", &[("core.excludesFile", "ROOT/outside/excludes")], &["status"])
            .with(|scene| {
                scene.put("outside/excludes", "planted\n");
                scene.write("planted", "");
            })
            .seen(Hides("planted")),
        fires(
            "commit.template",
            &[("commit.template", "ROOT/outside/secret"), ("core.editor", "cat")],
            &["commit", "--allow-empty"],
        )
        .with(outside)
        .seen(Says("secret words")),
        fires(
            "format.signatureFile",
            &[("format.signatureFile", "ROOT/outside/secret")],
            &["format-patch", "--stdout", "-1"],
        )
        .with(outside)
        .seen(Says("secret words")),
        fires(
            "mailmap.file",
            &[("mailmap.file", "ROOT/outside/mailmap")],
            &["check-mailmap", "Ada <ada@example.com>"],
        )
        .with(|scene| scene.put("outside/mailmap", "Eve <eve@example.com> <ada@example.com>\n"))
        .seen(Says("Eve")),
        fires("diff.orderFile", &[("diff.orderFile", "ROOT/outside/none")], diff)
            .seen(Says("outside/none")),
        fires("fsck.skipList", &[("fsck.skipList", "ROOT/outside/none")], &["fsck"])
            .seen(Says("outside/none")),
        fires(
            "user.signingKey",
            &[
                ("gpg.format", "ssh"),
                ("user.signingKey", "ROOT/outside/key"),
                ("gpg.ssh.program", "FIRE"),
            ],
            SIGNED,
        ),
        // Files of the repository.
        fires("hooks", &[], COMMIT).with(hook),
        fires("config", &[("diff.external", "FIRE")], diff),
        fires("config.worktree", &[], diff).with(|scene| {
            scene.git_here(&["config", "extensions.worktreeConfig", "true"]);
            scene.put("project/.git/config.worktree", "[diff]\n\texternal = FIRE\n");
        }),
        fires("extensions.worktreeConfig", &[("extensions.worktreeConfig", "true")], diff)
            .with(|scene| scene.put("project/.git/config.worktree", "[diff]\n\texternal = FIRE\n")),
        fires("commondir", &[], diff).with(|scene| {
            scene.git_here(&["config", "diff.external", &scene.text("FIRE")]);
            fs::rename(scene.at("project/.git"), scene.at("outside/other")).unwrap();
            fs::create_dir(scene.at("project/.git")).unwrap();
            for name in ["HEAD", "index"] {
                fs::copy(scene.at("outside/other").join(name), scene.at("project/.git").join(name))
                    .unwrap();
            }
            scene.put("project/.git/commondir", "ROOT/outside/other\n");
        }),
        fires(".git", &[], diff).with(|scene| {
            scene.git_here(&["config", "diff.external", &scene.text("FIRE")]);
            fs::rename(scene.at("project/.git"), scene.at("outside/other")).unwrap();
            scene.put("project/.git", "gitdir: ROOT/outside/other\n");
        }),
        fires(".gitattributes", &[("diff.x.command", "FIRE")], diff).with(attributes),
        fires("info/attributes", &[], diff).with(|scene| {
            scene.git_here(&["config", "diff.x.command", &scene.text("FIRE")]);
            scene.put("project/.git/info/attributes", "* diff=x\n");
        }),
        fires("modules", &[], &["status"]).with(|scene| {
            submodule(scene);
            scene.git(&["config", "core.fsmonitor", &scene.text("FIRE")], "project/part");
        }),
        fires(".gitmodules", &[], &["status"]).with(|scene| {
            submodule(scene);
            scene.git_here(&["config", "-f", ".gitmodules", "submodule.part.ignore", "none"]);
            scene.git(&["config", "core.fsmonitor", &scene.text("FIRE")], "project/part");
        }),
        fires(".gitmodules", &[], &["diff", "--submodule=diff", "HEAD~1", "HEAD"]).with(|scene| {
            submodule(scene);
            scene.git(&["config", "diff.external", &scene.text("FIRE")], "project/part");
            scene.git(&["config", "core.pager", &scene.text("FIRE")], "project/part");
            scene.git(
                &["config", "core.attributesFile", &scene.text("ROOT/outside/a")],
                "project/part",
            );
            scene.put("outside/a", "* diff=x\n");
            scene.git(&["config", "diff.x.textconv", &scene.text("FIRE <")], "project/part");
        }),
        fires("objects/info/alternates", &[], &["log", "-1", "secret"])
            .with(|scene| {
                scene.git(&["init", "-q", "outside/vault"], "");
                scene.git(
                    &["commit", "-q", "--allow-empty", "-m", "a secret commit"],
                    "outside/vault",
                );
                let id = scene.git(&["rev-parse", "HEAD"], "outside/vault");
                scene.put(
                    "project/.git/objects/info/alternates",
                    "ROOT/outside/vault/.git/objects\n",
                );
                scene.put("project/.git/refs/heads/secret", &format!("{id}\n"));
            })
            .seen(Says("a secret commit")),
        fires("refs/replace", &[], &["log", "--format=%s"]).with(forged).seen(Says("Forged")),
        fires("info/grafts", &[], &["log", "--format=%s"])
            .with(|scene| {
                let (head, forged) = (scene.git_here(&["rev-parse", "HEAD"]), forged_commit(scene));
                scene.put("project/.git/info/grafts", &format!("{head} {forged}\n"));
            })
            .seen(Says("Forged")),
        fires("remotes", &[("protocol.ext.allow", "always")], &["ls-remote", "o"])
            .with(|scene| scene.put("project/.git/remotes/o", "URL: ext::FIRE\n")),
        fires("branches", &[("protocol.ext.allow", "always")], &["ls-remote", "o"])
            .with(|scene| scene.put("project/.git/branches/o", "ext::FIRE\n")),
        fires("rebase-merge/git-rebase-todo", &[], &["rebase", "--continue"]).with(|scene| {
            scene.git_here(&["stash", "-q"]);
            scene.git_here(&[
                "-c",
                "sequence.editor=sed -i 1ibreak",
                "rebase",
                "-q",
                "-i",
                "HEAD~1",
            ]);
            scene.put("project/.git/rebase-merge/git-rebase-todo", "exec FIRE < /dev/null\n");
        }),
        fires("core.useReplaceRefs", &[("core.useReplaceRefs", "true")], &["log", "--format=%s"])
            .with(forged)
            .seen(Says("Forged")),
    ]
}

fn forged_commit(scene: &Scene) -> String {
    let tree = scene.git_here(&["rev-parse", "HEAD^{tree}"]);
    scene.git_here(&["commit-tree", "-m", "Forged", &tree])
}

fn forged(scene: &Scene) {
    let forged = forged_commit(scene);
    let head = scene.git_here(&["rev-parse", "HEAD"]);
    scene.put(&format!("project/.git/refs/replace/{head}"), &format!("{forged}\n"));
}

/// Rows that no test springs, and why.
const UNTRIED: &[(&str, &str)] = &[
    ("bundle.*.uri", "needs a server of bundles"),
    ("core.alternateRefsCommand", "is read by the receiving side of a fetch or push"),
    ("core.commitGraph", "needs a forged file"),
    ("core.multiPackIndex", "needs a forged file"),
    ("core.untrackedCache", "needs a forged index"),
    ("fetch.bundleURI", "needs a server of bundles"),
    ("fetch.fsck.skipList", "is read by a fetch"),
    ("gc.recentObjectsHook", "is newer than Debian's git"),
    ("gpg.ssh.allowedSignersFile", "needs ssh keys"),
    ("gpg.ssh.revocationFile", "needs ssh keys"),
    ("guitool.*.cmd", "needs a display"),
    ("help.browser", "needs the pages in HTML"),
    ("help.htmlPath", "needs the pages in HTML"),
    ("http.*", "needs a server"),
    ("imap.tunnel", "needs a git with IMAP"),
    ("init.templateDir", "is read where a repository is made"),
    ("instaweb.*", "needs a web server"),
    ("merge.guitool", "needs a display"),
    ("merge.tool", "as diff.tool"),
    ("mergetool.*.cmd", "as difftool.*.cmd"),
    ("mergetool.*.path", "as difftool.*.path"),
    ("objects/info/commit-graph", "needs a forged file"),
    ("receive.fsck.skipList", "is read by the receiving side of a push"),
    ("receive.procReceiveRefs", "is read by the receiving side of a push"),
    ("remote.*.promisor", "needs a server"),
    ("remote.*.proxy", "needs a server"),
    ("safe.bareRepository", "git itself reads it from nowhere else than the person's own"),
    ("safe.directory", "git itself reads it from nowhere else than the person's own"),
    ("sendemail.*", "needs Git's mail program"),
    ("trace2.*", "git itself reads it from nowhere else than the person's own"),
    ("uploadpack.packObjectsHook", "git itself reads it from nowhere else than the person's own"),
];

fn sprang(scene: &Scene, trap: &Trap, ran: &Ran) -> bool {
    match trap.sprung {
        Fires => scene.fired(),
        Says(what) => ran.text.contains(what),
        Hides(what) => !ran.text.contains(what),
    }
}

fn set_trap(git: &Path, trap: &Trap, place: &[&str]) -> Scene {
    let scene = Scene::new(git);
    (trap.plant)(&scene);
    for (key, value) in trap.config {
        let (key, value) = (scene.text(key), scene.text(value));
        scene.git_here(&[&["config"][..], place, &["--add", &key, &value]].concat());
    }
    let _ = fs::remove_file(scene.at("fired"));
    scene
}

fn command(scene: &Scene, trap: &Trap) -> Vec<String> {
    trap.command.iter().map(|word| scene.text(word)).collect()
}

fn run_bare(scene: &Scene, trap: &Trap) -> Ran {
    let words = command(scene, trap);
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    scene.bare(&words, "project", trap.input)
}

fn run_hardened(scene: &Scene, trap: &Trap) -> Ran {
    let words = command(scene, trap);
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    // A repository that is not looked at at all springs nothing.
    let refused =
        |error: git_guard::host::HostError| Ran { ok: false, text: format!("refused: {error}") };
    scene.hardened(&words, "project", trap.input).unwrap_or_else(refused)
}

fn failures(arm: impl Fn(&Path, &Trap) -> Option<String>) -> Vec<String> {
    let traps = traps();
    let gits = gits();
    let tries = gits.iter().flat_map(|git| traps.iter().map(move |trap| (git, trap)));
    tries
        .filter_map(|(git, trap)| {
            let why = arm(git, trap)?;
            Some(format!("{} with {}: {why}", trap.row, git.display()))
        })
        .collect()
}

#[test]
fn bare_git_obeys_a_repository() {
    let failures = failures(|git, trap| {
        let scene = set_trap(git, trap, &[]);
        let ran = run_bare(&scene, trap);
        (!sprang(&scene, trap, &ran)).then(|| format!("it does nothing: {}", ran.text))
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn hardened_git_obeys_nothing_of_a_repository() {
    let failures = failures(|git, trap| {
        let scene = set_trap(git, trap, &[]);
        let ran = run_hardened(&scene, trap);
        sprang(&scene, trap, &ran).then(|| format!("it sprang: {}", ran.text))
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_persons_own_settings_hold() {
    let failures = failures(|git, trap| {
        let yours = settings::all().find(|row| row.name == trap.row).unwrap().yours;
        if trap.config.is_empty() || yours == Yours::NoSuch {
            return None;
        }
        let scene = set_trap(git, trap, &["--global"]);
        let ran = run_hardened(&scene, trap);
        match (yours, sprang(&scene, trap, &ran)) {
            (Yours::Holds, true) | (Yours::Off(_), false) => None,
            (Yours::Holds, false) => Some(format!("it is out of force: {}", ran.text)),
            (_, _) => Some(format!("it holds, and should not: {}", ran.text)),
        }
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_row_has_a_trap_or_a_reason() {
    let tried: BTreeSet<_> = traps().iter().map(|trap| trap.row).collect();
    assert!(tried.len() >= 20);
    let rows: BTreeSet<_> =
        settings::KEYS.iter().chain(settings::FILES).map(|row| row.name).collect();
    let untried: BTreeSet<_> = UNTRIED.iter().map(|(row, _)| *row).collect();
    assert!(tried.is_disjoint(&untried), "{:?}", tried.intersection(&untried));
    let known: BTreeSet<_> = tried.union(&untried).copied().collect();
    assert_eq!(known, rows);
}

/// Keys whose names sound as if they ran or led somewhere, and do not.
const HARMLESS: &[&str] = &[
    "advice.",
    "blame.",
    "branch.",
    "clean.",
    "color.",
    "column.",
    "completion.",
    "core.alternateRefsPrefixes",
    "core.bigFileThreshold",
    "core.fileMode",
    "core.filesRefLockTimeout",
    "core.fsmonitorHookVersion",
    "core.fsyncObjectFiles",
    "core.hideDotFiles",
    "core.preferSymlinkRefs",
    "core.precomposeUnicode",
    "checkout.",
    "commit.",
    "commitGraph.",
    "core.logAllRefUpdates",
    "diff.<driver>.",
    "diff.dirstat",
    "difftool.",
    "extensions.",
    "fetch.",
    "format.",
    "fsck.",
    "fsmonitor.",
    "gc.",
    "gitcvs.",
    "gitweb.",
    "gui.",
    "guitool.<name>.",
    "help.format",
    "log.",
    "mailmap.blob",
    "merge.",
    "mergetool.",
    "notes.",
    "pack.",
    "pull.",
    "push.",
    "rebase.",
    "receive.",
    "remote.",
    "remotes.",
    "repack.",
    "rerere.",
    "sparse.",
    "ssh.variant",
    "stash.",
    "status.",
    "submodule.",
    "tag.",
    "transfer.",
    "uploadarchive.",
    "uploadpack.",
    "uploadpackfilter.",
    "worktree.",
    "credentialCache.",
    "index.",
    "merge.<driver>.",
    "core.quotePath",
    "feature.",
    "clone.",
    "bundle.",
    "diff.",
];

/// What a name that sounds so has in it.
const SOUNDS: &[&str] = &[
    "command",
    "cmd",
    "program",
    "helper",
    "path",
    "file",
    "hook",
    "editor",
    "pager",
    "driver",
    "proxy",
    "ssh",
    "textconv",
    "external",
    "tool",
    "insteadof",
    "include",
    "alias",
    "vcs",
    "process",
    "clean",
    "smudge",
    "browser",
    "askpass",
    "dir",
    "worktree",
    "monitor",
    "alternate",
    "allow",
    "update",
    "template",
    "signingkey",
    "skiplist",
    "uri",
    "url",
    "target",
    "tunnel",
    "receivepack",
    "uploadpack",
];

/// The documentation of this machine's git, gone through key by key: each that sounds as if it ran or
/// led somewhere is in the table, or was looked at and found harmless.
#[test]
fn every_key_that_sounds_dangerous_is_decided() {
    for git in gits() {
        let scene = Scene::new(&git);
        let keys = scene.bare(&["-c", "core.pager=cat", "help", "--config"], "home", "").text;
        let sounds = |key: &&str| {
            let lower = key.to_ascii_lowercase();
            !key.contains(' ')
                && key.contains('.')
                && SOUNDS.iter().any(|sound| lower.contains(sound))
        };
        let open: Vec<_> = keys
            .lines()
            .filter(sounds)
            .filter(|key| {
                let harmless = HARMLESS.iter().any(|start| key.starts_with(start));
                settings::of_key(key).is_none() && !harmless
            })
            .collect();
        assert!(open.is_empty(), "{}: {open:?}", git.display());
        assert!(keys.lines().count() > 500, "{keys}");
    }
}

#[test]
fn variables_that_steer_git_are_taken_out() {
    let planted = [
        ("GIT_ASKPASS", "FIRE"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "diff.external"),
        ("GIT_CONFIG_VALUE_0", "FIRE"),
        ("GIT_CONFIG_PARAMETERS", "'diff.external'='FIRE'"),
        ("GIT_DIR", "ROOT/outside/other"),
        ("GIT_EDITOR", "FIRE"),
        ("GIT_EXEC_PATH", "ROOT/outside"),
        ("GIT_EXTERNAL_DIFF", "FIRE"),
        ("GIT_INDEX_FILE", "ROOT/outside/index"),
        ("GIT_OBJECT_DIRECTORY", "ROOT/outside/objects"),
        ("GIT_PROXY_COMMAND", "FIRE"),
        ("GIT_SEQUENCE_EDITOR", "FIRE"),
        ("GIT_SSH", "FIRE"),
        ("GIT_SSH_COMMAND", "FIRE"),
        ("GIT_TEMPLATE_DIR", "ROOT/outside"),
        ("GIT_TRACE", "ROOT/fired"),
        ("GIT_WORK_TREE", "ROOT/outside"),
    ];
    for git in gits() {
        let mut scene = Scene::new(&git);
        let planted = planted.map(|(name, value)| (name, scene.text(value)));
        scene.variables.extend(planted.map(|(name, value)| (name.into(), value.into())));
        let ran = scene.hardened(&["diff", "HEAD"], "project", "").unwrap();
        assert!(ran.ok && ran.text.contains("three and more"), "{}", ran.text);
        scene.hardened(&["commit", "--allow-empty"], "project", "").unwrap();
        assert!(!scene.fired());
    }
    let named: BTreeSet<_> = settings::VARIABLES.iter().map(|row| row.name).collect();
    let mut tried: BTreeSet<_> = planted.iter().map(|(name, _)| *name).collect();
    tried.retain(|name| {
        !name.starts_with("GIT_CONFIG_KEY") && !name.starts_with("GIT_CONFIG_VALUE")
    });
    tried.insert("PATH");
    assert_eq!(named, tried);
}

#[test]
fn no_program_is_looked_up_in_the_repository() {
    for git in gits() {
        let mut scene = Scene::new(&git);
        scene.executable("project/bin/differ", "echo fired > ROOT/fired");
        scene.git_here(&["config", "--global", "diff.external", "differ"]);
        let path = scene.variables.get(std::ffi::OsStr::new("PATH")).unwrap().to_str().unwrap();
        symlink(scene.at("project/bin"), scene.at("outside/link")).unwrap();
        let path = format!(
            "{}:.:bin::{}:{path}",
            scene.text("ROOT/outside/link"),
            scene.text("ROOT/project/bin")
        );
        scene.variables.insert("PATH".into(), path.into());
        scene.bare(&["diff", "HEAD"], "project", "");
        assert!(scene.fired(), "bare git looks it up");
        fs::remove_file(scene.at("fired")).unwrap();
        scene.hardened(&["diff", "HEAD"], "project", "").unwrap();
        assert!(!scene.fired());
    }
}
