//! Host rows of the behaviours, and groups F1 and F2 of the attacks.

use names::Host;

fn why(text: &str) -> String {
    Host::parse(text).map(|host| format!("accepted as {host}")).unwrap_or_else(|e| e.why().into())
}

#[test]
fn one_name_has_one_form() {
    let cases = [
        ("www.example.com", "www.example.com"),
        ("WWW.Example.COM.", "www.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("faß.de", "xn--fa-hia.de"),
        ("ｅｘａｍｐｌｅ．ｃｏｍ", "example.com"),
        ("example。com", "example.com"),
        ("example.com。", "example.com"),
        ("ⓔⓧample.com", "example.com"),
        ("exam\u{ad}ple.com", "example.com"),
        ("日本語.jp", "xn--wgv71a119e.jp"),
        ("r3---sn-4g5e6nl7.googlevideo.com", "r3---sn-4g5e6nl7.googlevideo.com"),
        ("_dmarc.example.com", "_dmarc.example.com"),
        ("my_bucket.storage.example.com", "my_bucket.storage.example.com"),
        ("1.example.com", "1.example.com"),
        ("4chan.org", "4chan.org"),
        ("secret.evil.example", "secret.evil.example"),
        ("files.test", "files.test"),
        ("s3.amazonaws.com", "s3.amazonaws.com"),
        ("github.io", "github.io"),
    ];
    for (text, form) in cases {
        assert_eq!(Host::parse(text).map(|host| host.to_string()), Ok(form.to_owned()), "{text}");
    }
    assert_ne!(Host::parse("www.example.com"), Host::parse("example.com"));
}

#[test]
fn more_than_a_name_is_refused() {
    let cases = [
        ("", "is empty"),
        ("http://example.com", "has a scheme"),
        ("example.com/path", "has a path"),
        ("example.com\\path", "has a path"),
        ("example.com:443", "has a port"),
        ("user@example.com", "has user information"),
        ("allowed.com@evil", "has user information"),
        ("allowed.com:443@evil", "has user information"),
        ("example.com#x", "has a query or a fragment"),
        ("example.com?x", "has a query or a fragment"),
        ("[allowed.com]", "is an IP literal"),
        ("*.example.com", "has a wildcard"),
        ("exa mple.com", "has white space or a control character"),
        (" example.com", "has white space or a control character"),
        ("example.com\n", "has white space or a control character"),
        ("evil\0.allowed.com", "has white space or a control character"),
        ("evil\x7f.allowed.com", "has white space or a control character"),
        ("example.com\u{a0}", "has white space or a control character"),
    ];
    for (text, reason) in cases {
        assert_eq!(why(text), reason, "{text:?}");
    }
}

#[test]
fn malformed_names_are_refused() {
    let label = "a".repeat(64);
    let long = format!("{}a.com", "a.".repeat(124) + "a");
    assert_eq!(long.len(), 254);
    let cases = [
        (".", "has an empty label"),
        (".example.com", "has an empty label"),
        ("a..example.com", "has an empty label"),
        ("example.com..", "has an empty label"),
        ("example.com.。", "has an empty label"),
        (&format!("{label}.com"), "has a label of more than 63 characters"),
        (&long, "has more than 253 characters"),
        ("my_host.com", "has an underscore in its registrable part"),
        ("a.my_host.co.uk", "has an underscore in its registrable part"),
        ("_", "is a single label"),
    ];
    for (text, reason) in cases {
        assert_eq!(why(text), reason, "{text:?}");
    }
    let wrong = "has a character or a hyphen that a host name can't have there";
    for text in [
        "-a.com",
        "a-.com",
        "a.-b.com",
        "a／b.com",
        "a＠b.com",
        "a%41.com",
        "a％41.com",
        "a！.com",
        "xn--\u{e4}.com",
        "xn--a.com",
        "xn--.com",
        "xn--example-.com",
        "a\u{200d}b.com",
        "\u{301}a.com",
        "\u{202e}moc.com",
        "\u{fffd}.com",
    ] {
        assert_eq!(why(text), wrong, "{text:?}");
    }
    assert!(Host::parse(&format!("{}.com", "a".repeat(63))).is_ok());
    assert!(Host::parse(&format!("{}com.", "a.".repeat(125))).is_ok());
}

#[test]
fn addresses_in_any_notation_are_refused() {
    for text in [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "2130706433",
        "0177.0.0.1",
        "0x7f000001",
        "0x7f.1",
        "0.0.0.0",
        "0",
        "１２７．０．０．１",
        "①②⑦.1",
        "example.123",
        "example.0x",
        "1.2.3.4.5",
        "999.999.999.999",
    ] {
        assert_eq!(why(text), "is a number or an IP literal", "{text}");
    }
    for text in
        ["::1", "[::1]", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1%1"]
    {
        assert_eq!(why(text), "is an IP literal", "{text}");
    }
}

#[test]
fn names_that_are_not_public_are_refused() {
    for text in [
        "localhost",
        "LOCALHOST.",
        "app.localhost",
        "localhost.localdomain",
        "printer.local",
        "api.default.svc.cluster.local",
        "metadata.google.internal",
        "internal",
        "router.lan",
        "x.home.arpa",
        "1.0.0.127.in-addr.arpa",
        "x.onion",
    ] {
        assert_eq!(why(text), "is a name of local or special use", "{text}");
    }
    for text in ["intern", "com", "uk", "example", "xn--p1ai"] {
        assert_eq!(why(text), "is a single label", "{text}");
    }
    for text in ["co.uk", "CO.UK.", "com.au", "公司.cn", "xn--55qx5d.cn", "foo.ck"] {
        assert_eq!(why(text), "is a public suffix", "{text}");
    }
    // The exceptions of the list.
    for text in ["www.ck", "localhosts.example", "notlocal.example", "mylocal.net"] {
        assert!(Host::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn an_address_is_a_host_only_on_purpose() {
    let host = Host::parse_address("203.0.113.7").unwrap();
    assert_eq!(host.address(), Some("203.0.113.7".parse().unwrap()));
    assert_eq!(Host::parse_address("2001:db8::7").unwrap().as_str(), "2001:db8::7");
    for text in ["203.0.113.07", "2001:DB8::7", "2001:db8:0::7", "[::1]", "fe80::1%eth0", "1", ""] {
        assert!(Host::parse_address(text).is_err(), "{text}");
    }
    let json = serde_json::to_string(&host).unwrap();
    assert_eq!(serde_json::from_str::<Host>(&json).unwrap(), host);
    assert!(serde_json::from_str::<Host>("\"127.1\"").is_err());
}

#[test]
fn an_error_shows_no_password_and_no_control_character() {
    let error = Host::parse("https://me:hunter2@evil.com").unwrap_err().to_string();
    assert!(!error.contains("hunter2"), "{error}");
    let error = Host::parse("a\x1b[2J.com").unwrap_err().to_string();
    assert_eq!(error, "host \"a\\x1b[2J.com\" is an IP literal");
    let error = Host::parse(&"a".repeat(100_000)).unwrap_err().to_string();
    assert!(error.len() < 250, "{}", error.len());
}
