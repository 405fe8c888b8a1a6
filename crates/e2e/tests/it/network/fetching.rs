//! The agent's `fetch` through the network gate: what it brings, and what it says where it brings
//! nothing.

use testkit::Ran;

use super::internet::{Certificate, HOST, Internet, OTHER, VOUCHED};

crate::tests![
    a_page_of_a_granted_host_is_fetched,
    a_host_that_is_not_granted_is_refused_with_the_smallest_change,
    a_redirection_to_a_refused_host_is_refused_too,
    a_certificate_that_does_not_hold_is_said,
    a_large_page_is_shown_page_by_page,
    what_is_not_text_is_named_and_not_shown,
    a_body_that_never_ends_is_cut,
    a_server_inside_is_reached_without_the_gate,
    without_a_network_that_is_said,
];

/// A turn that fetches, after a result in which these texts are.
fn fetch(arguments: &str, expect: &str) -> String {
    format!("[[turn]]\n{expect}\ncall = [{{ name = \"fetch\", arguments = {{ {arguments} }} }}]\n")
}

fn url(url: &str) -> String {
    format!("url = \"{url}\"")
}

/// What a result has to have.
fn shows(failed: bool, texts: &[&str]) -> String {
    format!("expect = {{ failed = {failed}, last = {texts:?} }}")
}

/// The last turn.
fn done(expect: &str) -> String {
    format!("[[turn]]\n{expect}\ntext = \"All seen.\"\n")
}

/// The agent at work, with a model that finds what it expects.
fn agent(internet: &Internet, flags: &[&str], turns: &[String]) -> Ran {
    let script = format!("name = \"scripted\"\n{}", turns.concat());
    let script = internet.world.write("script.toml", script);
    let model = format!("scripted:{}", script.display());
    let words = [&["run", "--json", "--model", &model], flags, &["--", "look"]].concat();
    internet.tell(&words).expect_code(0)
}

fn a_page_of_a_granted_host_is_fetched() {
    let mut internet = Internet::new();
    let origin = internet.origin(Certificate::Good);
    let plain = internet.plain_origin();
    internet.grant(HOST, 443, &origin, VOUCHED);
    internet.grant(OTHER, 80, &plain, "");
    let page =
        "<html><head><title>x</title></head><body><h1>Head</h1><p>A &amp; b</p></body></html>";
    internet.world.write(internet.www().join("page.html"), page);
    let [secure, page, plain] = [
        format!("https://{HOST}/hello"),
        format!("https://{HOST}/page.html"),
        format!("http://{OTHER}/hello"),
    ];
    for flags in [&[][..], &["--mode", "direct"], &["--mode", "read-only"]] {
        agent(
            &internet,
            flags,
            &[
                fetch(&url(&secure), ""),
                fetch(
                    &url(&page),
                    &shows(false, &[&format!("200 {secure}"), "hello from outside"]),
                ),
                fetch(&url(&plain), &shows(false, &["Head", "A & b"])),
                fetch(
                    &url(&format!("https://{HOST}/none")),
                    &shows(false, &["hello from outside"]),
                ),
                done(&shows(true, &["404 "])),
            ],
        );
        internet.verify();
    }
}

fn a_host_that_is_not_granted_is_refused_with_the_smallest_change() {
    let (internet, origin) = Internet::with("paths = [\"/hello\"]");
    let [refused, plain, beyond] = [
        format!("https://{OTHER}/hello"),
        format!("http://{OTHER}:8080/hello"),
        format!("https://{HOST}/secret"),
    ];
    let change = |host: &str, port: u16| format!("[[network]] host = \"{host}\", ports = [{port}]");
    let (by_tunnel, by_request) = (change(OTHER, 443), change(OTHER, 8080).replace('"', "\\\""));
    let not_fetched = format!("{refused} was not fetched");
    let why = "no rule allows this connection";
    agent(
        &internet,
        &[],
        &[
            fetch(&url(&refused), ""),
            fetch(&url(&plain), &shows(true, &[&not_fetched, why, "default connect", &by_tunnel])),
            fetch(&url(&beyond), &shows(true, &[&format!("403 {plain}"), why, &by_request])),
            done(&shows(
                true,
                &[&format!("403 {beyond}"), "but not this path", "to paths of [[network]]"],
            )),
        ],
    );
    assert!(origin.requests().is_empty());
    internet.verify();
}

fn a_redirection_to_a_refused_host_is_refused_too() {
    let (internet, origin) = Internet::with(VOUCHED);
    let refused = format!("https://{OTHER}/hello");
    let not_fetched = format!("{refused} was not fetched");
    let change = format!("host = \"{OTHER}\"");
    let on = format!("https://{HOST}/hello");
    let around = format!("https://{HOST}/redirect?https://{HOST}/redirect?{on}");
    agent(
        &internet,
        &[],
        &[
            fetch(&url(&format!("https://{HOST}/redirect?{refused}")), ""),
            fetch(&url(&around), &shows(true, &[&not_fetched, "default connect", &change])),
            fetch(
                &url(&format!("https://{HOST}/around")),
                &shows(false, &[&on, "hello from outside"]),
            ),
            done(&shows(true, &["curl: (47)"])),
        ],
    );
    assert!(origin.requests().len() > 4);
    internet.verify();
}

fn a_certificate_that_does_not_hold_is_said() {
    for (certificate, more, why) in [
        (Certificate::Expired, VOUCHED, "expired"),
        (Certificate::SelfSigned, VOUCHED, "certificate"),
        // Nobody vouches for it inside, and nobody looks at it outside.
        (Certificate::Good, "", "SSL certificate"),
    ] {
        let mut internet = Internet::new();
        let origin = internet.origin(certificate);
        internet.grant(HOST, 443, &origin, more);
        let page = format!("https://{HOST}/hello");
        let turns = [fetch(&url(&page), ""), done(&shows(true, &[&page, why]))];
        agent(&internet, &[], &turns);
        assert!(origin.requests().is_empty());
        internet.verify();
    }
}

fn a_large_page_is_shown_page_by_page() {
    let (internet, origin) = Internet::with(VOUCHED);
    let text: String = (0..10_000).map(|line| format!("line {line:05}\n")).collect();
    internet.world.write(internet.www().join("long.txt"), &text);
    let page = url(&format!("https://{HOST}/long.txt"));
    let at = |offset: usize| format!("{page}, offset = {offset}");
    let first = agent(&internet, &[], &[fetch(&page, ""), done("")]).out();
    let (_, told) = first.split_once("go on with offset ").unwrap();
    let room: usize = told.split(']').next().unwrap().parse().unwrap();
    assert!((4 << 10..48 << 10).contains(&room), "{room}");
    let last = text.len() - room / 2;
    let cut = |next: usize| format!("[{room} of 110000 bytes shown; go on with offset {next}]");
    let line = |offset: usize| format!("line {:05}", offset / 11);
    let whole = |from: usize| {
        let lines = [from + 11, from + room / 2, from + room - 11].map(line);
        shows(false, &[&lines[0], &lines[1], &lines[2], &cut(from + room)])
    };
    agent(
        &internet,
        &[],
        &[
            fetch(&page, ""),
            fetch(&at(room), &whole(0)),
            fetch(&at(last), &whole(room)),
            fetch(
                &at(200_000),
                &shows(false, &[&line(last + 11), "line 09999", " of 110000 bytes shown]"]),
            ),
            done(&shows(true, &["there are only 110000 bytes"])),
        ],
    );
    assert_eq!(origin.requests().len(), 5);
    internet.verify();
}

fn what_is_not_text_is_named_and_not_shown() {
    let (internet, _origin) = Internet::with(VOUCHED);
    let image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    internet.world.write(internet.www().join("image.png"), image);
    let get = |path: &str| url(&format!("https://{HOST}/{path}"));
    agent(
        &internet,
        &[],
        &[
            fetch(&get("big?4"), ""),
            fetch(&get("big?320"), &shows(true, &["200 ", "256.0 KiB: not text"])),
            fetch(&get("image.png"), &shows(true, &["at least 5.0 MiB: not text"])),
            done(&shows(false, &["200 ", "image/png"])),
        ],
    );
    internet.verify();
}

fn a_body_that_never_ends_is_cut() {
    let (internet, _origin) = Internet::with(VOUCHED);
    let page = url(&format!("https://{HOST}/endless"));
    let cut = "[only the first 5.0 MiB are fetched]";
    let next = "bytes shown; go on with offset";
    agent(&internet, &[], &[fetch(&page, ""), done(&shows(false, &["200 ", "a line", cut, next]))]);
    internet.verify();
}

fn a_server_inside_is_reached_without_the_gate() {
    let (internet, origin) = Internet::with(VOUCHED);
    let serve = "/usr/bin/python3 -m http.server 8000 --bind 127.0.0.1";
    let job = format!(
        "[[turn]]\ncall = [{{ name = \"bash\", arguments = {{ command = \"{serve}\", background = true }} }}]\n"
    );
    let wait = "[[turn]]\ncall = [{ name = \"bash\", arguments = { command =                 \"until curl -s localhost:8000 >/dev/null; do sleep 0.1; done\" } }]\n";
    agent(
        &internet,
        &[],
        &[
            job,
            wait.to_owned(),
            fetch(&url("http://localhost:8000/README.md"), ""),
            fetch(&url("http://127.0.0.1:8000/README.md"), &shows(false, &["# A project"])),
            done(&shows(false, &["# A project"])),
        ],
    );
    assert_eq!(origin.connections(), 0);
    internet.verify();
}

fn without_a_network_that_is_said() {
    let internet = Internet::new();
    let profile = "[profile]\nname = \"alone\"\nextends = \"offline\"\n\n\
                   [[rule]]\nid = \"tools\"\naction = \"tool\"\nverdict = \"allow\"\n";
    let profile = internet.world.write("alone.toml", profile);
    let flags = ["--profile", profile.to_str().unwrap()];
    let texts = ["https://example.com/ was not fetched", "there is no network", "[[network]]"];
    let turns = [fetch(&url("https://example.com"), ""), done(&shows(true, &texts))];
    agent(&internet, &flags, &turns);
}
