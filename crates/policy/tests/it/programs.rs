//! Which programs a rule's `program` means: the file that is executed, and, for asking and
//! denying, what it is called.

use policy::{Action, Authority, Exec, Outcome};

use crate::support::{authority, with_profile};

fn rule(program: &str, verdict: &str) -> String {
    format!("[[rule]]\naction = \"exec\"\nprogram = \"{program}\"\nverdict = \"{verdict}\"\n")
}

fn asking(program: &str) -> Authority {
    authority(with_profile(&rule(program, "ask")))
}

/// Everything but `program` is denied.
fn allowing(program: &str) -> Authority {
    let defaults = "[defaults]\nexec = \"deny\"\n";
    authority(with_profile(&format!("{defaults}{}", rule(program, "allow"))))
}

fn run(authority: &Authority, file: &str, called: &[&str]) -> Outcome {
    let called = called.iter().map(Into::into).collect();
    let exec = Exec { called, ..Exec::new(file, vec![], "/w") };
    authority.decide(&Action::Exec(exec)).outcome
}

#[test]
fn a_name_is_the_name_of_the_file_in_any_directory() {
    let git = asking("git");
    for file in ["/usr/bin/git", "/opt/git/bin/git", "/home/ann/work/site/git", "/git"] {
        assert_eq!(run(&git, file, &[]), Outcome::Ask, "{file}");
    }
    for file in ["/usr/bin/git-lfs", "/usr/bin/got", "/git/bin/x"] {
        assert_eq!(run(&git, file, &[]), Outcome::Allow, "{file}");
    }
}

/// `~/.cargo/bin/cargo` is a symbolic or a hard link to `rustup`, which then executes the
/// toolchain's `cargo`.
#[test]
fn the_program_that_a_proxy_starts_is_met_by_its_name() {
    let toolchain = "/home/ann/.rustup/stable/bin/cargo";
    let proxy = "/home/ann/.cargo/bin/cargo";
    let cargo = asking("cargo");
    assert_eq!(run(&cargo, toolchain, &[]), Outcome::Ask);
    assert_eq!(run(&cargo, proxy, &[]), Outcome::Ask, "a hard link");
    let rustup = "/home/ann/.cargo/bin/rustup";
    assert_eq!(run(&cargo, rustup, &[proxy]), Outcome::Ask, "a symbolic link");
    assert_eq!(run(&cargo, rustup, &["cargo"]), Outcome::Ask, "the name it is started under");
    assert_eq!(run(&cargo, rustup, &["rustup"]), Outcome::Allow, "rustup itself");
}

#[test]
fn what_a_link_leads_to_is_asked_about_by_the_name_of_the_link() {
    let cases = [
        ("npm", "/usr/lib/node_modules/npm/bin/npm-cli.js", "/usr/bin/npm"),
        ("/usr/bin/npm", "/usr/lib/node_modules/npm/bin/npm-cli.js", "/usr/bin/npm"),
        ("eslint", "/w/node_modules/eslint/bin/eslint.js", "/w/node_modules/.bin/eslint"),
        ("**/.bin/*", "/w/node_modules/eslint/bin/eslint.js", "/w/node_modules/.bin/eslint"),
        ("sh", "/usr/bin/dash", "/bin/sh"),
        ("python", "/usr/bin/python3.12", "/usr/bin/python"),
        ("rm", "/bin/busybox", "/bin/rm"),
    ];
    for (program, file, link) in cases {
        assert_eq!(run(&asking(program), file, &[link]), Outcome::Ask, "{program}");
        assert_eq!(run(&asking(program), file, &[]), Outcome::Allow, "{program}");
    }
}

/// Otherwise a link to anything, made inside, would be what is allowed.
#[test]
fn what_a_program_is_called_never_allows_it() {
    for program in ["cargo", "/home/ann/.cargo/bin/cargo", "**/bin/cargo"] {
        let cargo = allowing(program);
        let called = ["/home/ann/.cargo/bin/cargo", "cargo"];
        assert_eq!(run(&cargo, "/usr/bin/curl", &called), Outcome::Deny, "{program}");
        assert_eq!(run(&cargo, "/home/ann/.cargo/bin/cargo", &["curl"]), Outcome::Allow);
    }
}

#[test]
fn what_a_program_is_called_is_recorded_and_bound() {
    let plain = Exec::new("/usr/bin/dash", vec![], "/w");
    let called = Exec { called: vec!["/bin/sh".into()], ..plain.clone() };
    let json = |exec: &Exec| serde_json::to_string(&Action::Exec(exec.clone())).unwrap();
    assert!(!json(&plain).contains("called"));
    assert!(json(&called).contains(r#""called":["/bin/sh"]"#));
    assert_eq!(
        serde_json::from_str::<Action>(&json(&called)).unwrap(),
        Action::Exec(called.clone())
    );
    assert_ne!(Action::Exec(plain).digest(), Action::Exec(called).digest());
}
