//! Much of everything: files, levels, odd names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use testkit::{Repository, World, need};

crate::tests![
    a_large_repository_costs_by_what_changed,
    many_changes_are_applied,
    odd_names_are_carried_exactly_and_shown_escaped,
    names_of_every_byte,
    a_deep_tree_is_carried,
    a_sparse_file_stays_small,
];

fn fill(project: &Repository<'_>, files: usize) {
    for file in 0..files {
        let directory = project.path().join(format!("d{}", file / 500));
        if file % 500 == 0 {
            std::fs::create_dir(&directory).unwrap();
        }
        std::fs::write(directory.join(format!("f{file}")), "x").unwrap();
    }
}

fn a_large_repository_costs_by_what_changed() {
    need("strace");
    let world = World::new();
    let project = world.repository("project");
    fill(&project, 100_000);
    let trace = world.path().join("trace");
    let tracer =
        ["strace", "-f", "-qq", "-e", "trace=%file,getdents64", "-o", trace.to_str().unwrap()];
    let script = "echo new > new.txt; echo edit > d7/f3700; rm d9/f4600; mv d11/f5600 d11/moved";
    world
        .exec_with(&project, &["--quiet"], &["sh", "-c", script])
        .through(&tracer)
        .run()
        .expect_code(0);
    world
        .run_loop(&project, &["diff", "--stat"])
        .through(&[&tracer[..], &["-A"]].concat())
        .run()
        .expect_code(0);
    world
        .run_loop(&project, &["apply"])
        .through(&[&tracer[..], &["-A"]].concat())
        .run()
        .expect_code(0);
    let calls = std::fs::read_to_string(&trace).unwrap().lines().count();
    assert!(calls < 10_000, "{calls} calls about files for five changes");
    assert_eq!(project.read("d7/f3700"), "edit\n");
    assert!(project.has("d11/moved") && !project.has("d9/f4600") && project.has("d9/f4601"));
}

fn many_changes_are_applied() {
    let world = World::new();
    let project = world.repository("project");
    let script =
        "for d in $(seq 100); do mkdir d$d; for f in $(seq 100); do echo $f > d$d/f$f; done; done";
    world.exec_with(&project, &["--quiet"], &["sh", "-c", script]).run().expect_code(0);
    world.run_loop(&project, &["apply"]).run().expect_code(0);
    assert_eq!(project.status().lines().count(), 10_000);
    world.run_loop(&project, &["undo"]).run().expect_code(0);
    assert_eq!(project.status(), "");
}

fn odd_names_are_carried_exactly_and_shown_escaped() {
    let world = World::new();
    let project = world.repository("project");
    let names: Vec<Vec<u8>> = [
        b"new\nline".to_vec(),
        b"escape\x1b[31mred".to_vec(),
        b"invalid\xff\xfe".to_vec(),
        b"per%41cent%".to_vec(),
        b" spaces \t".to_vec(),
        b"-rf".to_vec(),
        b"quote'\"`$(x)".to_vec(),
        "rtl\u{202e}txt".into(),
        "größe-日本".into(),
        vec![b'x'; 255],
        b"back\\slash".to_vec(),
        b"..hidden..".to_vec(),
    ]
    .to_vec();
    for name in &names {
        world
            .exec_with(&project, &["--quiet"], &["sh", "-c", "echo content > \"./$1\"", "sh"])
            .arg(OsStr::from_bytes(name))
            .run()
            .expect_code(0);
        let shown = world.run_loop(&project, &["diff", "--stat"]).run().expect_code(0);
        let harmless = |byte: &u8| *byte == b'\n' || (*byte >= 0x20 && *byte != 0x7f);
        assert!(shown.stdout.iter().all(harmless), "{shown}");
        assert!(
            std::str::from_utf8(&shown.stdout).is_ok_and(|text| !text.contains('\u{202e}')),
            "{shown}"
        );
        world.run_loop(&project, &["audit"]).run().expect_code(0);
        world
            .run_loop(&project, &["apply", "--flagged"])
            .arg(OsStr::from_bytes(&flag_name(name)))
            .run()
            .expect_code(0);
        let path = project.path().join(OsStr::from_bytes(name));
        assert_eq!(std::fs::read(&path).unwrap(), b"content\n", "{}", path.display());
        world.run_loop(&project, &["undo"]).run().expect_code(0);
        assert!(!path.exists());
    }
}

/// `./NAME`, which is no option whatever the name is.
fn flag_name(name: &[u8]) -> Vec<u8> {
    [b"./", name].concat()
}

fn names_of_every_byte() {
    need("python3");
    let world = World::new();
    let project = world.repository("project");
    let script = "import os\nfor b in range(1, 256):\n    if b != 47: open(b'f' + bytes([b]), 'wb').write(bytes([b]))";
    world
        .exec_with(&project, &["--quiet"], &["/usr/bin/python3", "-c", script])
        .run()
        .expect_code(0);
    let json = world.run_loop(&project, &["diff", "--json"]).run().expect_code(0).json();
    assert_eq!(json["entries"].as_array().unwrap().len(), 254);
    world.run_loop(&project, &["apply"]).run();
    let applied = (1..=255_u8).filter(|byte| *byte != b'/').filter(|byte| {
        std::fs::read(project.path().join(OsStr::from_bytes(&[b'f', *byte])))
            .is_ok_and(|bytes| bytes == [*byte])
    });
    assert!(applied.count() >= 220, "those with invisible characters may be held");
}

fn a_deep_tree_is_carried() {
    need("python3");
    let world = World::new();
    let project = world.repository("project");
    // Deeper than a path that a system call takes at once.
    let script = "import os\nfor i in range(3000):\n    os.mkdir('d'); os.chdir('d')\nopen('leaf', 'w').write('leaf')";
    let ran = world
        .exec_with(&project, &["--quiet"], &["/usr/bin/python3", "-c", script])
        .run()
        .expect_no_panic();
    let diff = world.run_loop(&project, &["diff", "--stat"]).run().expect_no_panic();
    let apply = world.run_loop(&project, &["apply"]).run().expect_no_panic();
    let carried = ran.code() == Some(0) && diff.code() == Some(0) && apply.code() == Some(0);
    let refused = apply.code() == Some(125) && !project.has("d");
    assert!(carried && project.has("d/d/d/d") || refused, "{ran}\n{diff}\n{apply}");
    // The standard library's way of removing a tree holds a descriptor a level.
    world.outside(world.path(), &["rm", "-rf", "project", "loop-home"]).run().expect_code(0);
}

fn a_sparse_file_stays_small() {
    let world = World::new();
    let project = world.repository("project");
    world
        .exec_with(&project, &["--quiet"], &["truncate", "-s", "200M", "sparse"])
        .run()
        .expect_code(0);
    world.run_loop(&project, &["apply"]).run().expect_code(0);
    assert_eq!(project.path().join("sparse").metadata().unwrap().len(), 200 << 20);
}
