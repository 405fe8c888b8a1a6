//! Planning, without a kernel.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use policy::{Authority, Flags, Layer, NoLibrary, Request, Source};
use sandbox::{Host, Layout, PlanError, Shown, Subject, plan};

crate::tests!(
    a_login_comes_along_with_no_directory,
    a_plan_reads_as_what_it_does,
    read_only_mode_has_no_overlay_of_the_project,
    loop_never_shows_its_own,
    a_readable_ancestor_is_kept_with_a_cover,
    the_home_and_the_kernel_are_no_projects,
    root_is_nobody_inside,
    what_holds_a_mount_is_not_overlaid,
    a_plan_publishes_each_port_inside_once,
);

fn host() -> Host {
    Host {
        uid: 1001,
        gid: 1002,
        home: "/home/ada".into(),
        system: vec!["/usr".into()],
        links: BTreeMap::from([("/bin".into(), "usr/bin".into())]),
        shown: vec!["/etc/ssl/certs".into()],
        copied: vec!["/etc/localtime".into()],
        toolchains: vec![
            Shown { path: "/home/ada/.rustup".into(), scratch: false, hidden: vec![] },
            Shown {
                path: "/home/ada/.cargo".into(),
                scratch: true,
                hidden: vec!["/home/ada/.cargo/credentials.toml".into()],
            },
        ],
        mounted: vec!["/".into()],
    }
}

fn authority(profile: &str) -> Authority {
    let source = Source { layer: Layer::Named, name: "test.toml".into(), text: profile.into() };
    let request = Request {
        profile: Some(source),
        profile_name: "test".into(),
        owner: None,
        project: None,
        flags: Flags::default(),
        home: "/home/ada".into(),
        project_dir: "/home/ada/project".into(),
        subject: "ada".into(),
        library: &NoLibrary,
    };
    policy::resolve(request).unwrap().authority
}

fn subject(project: &Path) -> Subject<'_> {
    Subject {
        user: "ada",
        project,
        git: &[],
        git_config: "[user]\n\tname = \"Ada\"\n",
        home_files: &[],
        logins: &*LOGINS,
        secret: &*SECRET,
        grouped: false,
        network: None,
        shown_as: Vec::new(),
    }
}

static SECRET: std::sync::LazyLock<[PathBuf; 2]> =
    std::sync::LazyLock::new(|| ["/home/ada/.config/loop".into(), "/home/ada/.loop".into()]);

static LOGINS: std::sync::LazyLock<[PathBuf; 1]> =
    std::sync::LazyLock::new(|| ["/home/ada/.claude/.credentials.json".into()]);

fn a_login_comes_along_with_no_directory() {
    let login = confine_cover("/home/ada/.claude/.credentials.json");
    let steps = |profile: &str, project: &str| {
        let plan = plan_of(profile, project).unwrap();
        serde_json::to_value(&plan.steps).unwrap().as_array().unwrap().clone()
    };
    assert!(!steps(PROFILE, "/home/ada/project").contains(&login), "there is nothing to cover");
    assert!(steps(PROFILE, "/home/ada/.claude").contains(&login));
    for access in ["read", "scratch", "write"] {
        let mount =
            format!("{PROFILE}[[mount]]\npath = \"/home/ada/.claude\"\naccess = \"{access}\"\n");
        let steps = steps(&mount, "/home/ada/project");
        assert_eq!(steps.iter().filter(|step| **step == login).count(), 1, "{access}");
    }
}

fn plan_of(profile: &str, project: &str) -> Result<sandbox::Plan, PlanError> {
    let layout = Layout::of("/home/ada/.loop/run/R");
    plan(&authority(profile), &host(), &layout, &subject(Path::new(project)))
}

const PROFILE: &str = "[profile]\nname = \"test\"\nextends = \"offline\"\n";

fn a_plan_reads_as_what_it_does() {
    let profile = format!(
        "{PROFILE}[[mount]]\npath = \"/srv/data\"\naccess = \"read\"\n\
         [[mount]]\npath = \"/srv/cache\"\naccess = \"scratch\"\n[limits]\nprocesses = 64\n"
    );
    let plan = plan_of(&profile, "/home/ada/project").unwrap();
    insta::assert_snapshot!(
        "a_plan_reads_as_what_it_does",
        serde_json::to_string_pretty(&plan).unwrap()
    );
}

fn read_only_mode_has_no_overlay_of_the_project() {
    let profile = format!("{PROFILE}[workspace]\nmode = \"read-only\"\n");
    let plan = plan_of(&profile, "/home/ada/project").unwrap();
    assert!(!plan.rights.write.contains(&"/home/ada/project".into()));
}

fn loop_never_shows_its_own() {
    for project in ["/home/ada/.loop", "/home/ada/.loop/run/R", "/home/ada/.config"] {
        let refused = plan_of(PROFILE, project).unwrap_err();
        assert!(matches!(refused, PlanError::ExposesLoop { .. }), "{project}: {refused}");
    }
    for access in ["write", "scratch"] {
        let mount =
            format!("{PROFILE}[[mount]]\npath = \"/home/ada/.config\"\naccess = \"{access}\"\n");
        let refused = plan_of(&mount, "/home/ada/project").unwrap_err();
        assert!(matches!(refused, PlanError::ExposesLoop { what: "the mount", .. }), "{refused}");
    }
}

fn a_readable_ancestor_is_kept_with_a_cover() {
    let mount = format!("{PROFILE}[[mount]]\npath = \"/home/ada/.config\"\naccess = \"read\"\n");
    let plan = plan_of(&mount, "/home/ada/project").unwrap();
    let cover = confine_cover("/home/ada/.config/loop");
    let json = serde_json::to_value(&plan.steps).unwrap();
    let steps = json.as_array().unwrap();
    let shown = steps.iter().position(|step| step["show"]["at"] == "/home/ada/.config").unwrap();
    let covered = steps.iter().position(|step| *step == cover).unwrap();
    assert!(shown < covered);
}

fn confine_cover(at: &str) -> serde_json::Value {
    serde_json::json!({ "cover": { "at": at } })
}

fn the_home_and_the_kernel_are_no_projects() {
    for project in ["/home/ada", "/home", "/"] {
        assert!(matches!(plan_of(PROFILE, project), Err(PlanError::HoldsHome(_))), "{project}");
    }
    for project in ["/proc/1", "/sys/x", "/dev"] {
        let refused = plan_of(PROFILE, project).unwrap_err();
        assert!(matches!(refused, PlanError::KernelDirectory { .. }), "{project}: {refused}");
    }
}

fn root_is_nobody_inside() {
    let layout = Layout::of("/root/.loop/run/R");
    let host = Host { uid: 0, gid: 0, home: "/root".into(), ..host() };
    let plan =
        plan(&authority(PROFILE), &host, &layout, &subject(Path::new("/srv/project"))).unwrap();
    assert_eq!((plan.identity.outside_uid, plan.identity.inside_uid), (0, 1000));
    assert_eq!((plan.identity.outside_gid, plan.identity.inside_gid), (0, 1000));
}

fn what_holds_a_mount_is_not_overlaid() {
    use confine::plan::Step;
    use sandbox::Plan;
    let planned = |profile: &str, mounted: &[&str]| -> Result<Plan, PlanError> {
        let mounted = mounted.iter().map(PathBuf::from).collect();
        let host = Host { mounted, ..host() };
        let layout = Layout::of("/home/ada/.loop/run/r");
        plan(&authority(profile), &host, &layout, &subject(Path::new("/home/ada/project")))
    };
    let overlaid = |plan: &Plan, path: &str| {
        let at = Path::new(path);
        plan.steps.iter().any(|step| matches!(step, Step::Overlay { lower, .. } if lower == at))
    };
    let bound = |plan: &Plan, path: &str| {
        let at = Path::new(path);
        plan.steps.iter().any(|step| matches!(step, Step::Bind { from, .. } if from == at))
    };
    let usual = planned(PROFILE, &["/", "/home/ada/project", "/home/ada/.cargo"]).unwrap();
    assert!(overlaid(&usual, "/home/ada/.cargo") && overlaid(&usual, "/home/ada/project"));
    let nested = planned(PROFILE, &["/", "/home/ada/.cargo/registry"]).unwrap();
    assert!(bound(&nested, "/home/ada/.cargo") && !overlaid(&nested, "/home/ada/.cargo"));
    assert!(!nested.rights.write.contains(&PathBuf::from("/home/ada/.cargo")));

    let refused = planned(PROFILE, &["/", "/home/ada/project/target"]).unwrap_err();
    let told = "the project /home/ada/project holds a mount, /home/ada/project/target, \
                and so can't be shown as it is";
    assert_eq!(refused.to_string(), told);
    let direct = format!("{PROFILE}\n[workspace]\nmode = \"direct\"\n");
    assert!(planned(&direct, &["/home/ada/project/target"]).is_ok());
    let data = "[[mount]]\npath = \"/data\"\n";
    let refused = planned(&format!("{PROFILE}\n{data}"), &["/data/a", "/data/b"]).unwrap_err();
    assert!(matches!(refused, PlanError::HoldsMount { what: "the mount", .. }), "{refused}");
}

fn a_plan_publishes_each_port_inside_once() {
    let port = |number: u16| names::Port::try_from(number).unwrap();
    let at = |outside, inside| policy::Publication { outside: port(outside), port: port(inside) };
    let mut authority = authority(PROFILE);
    authority.publish = vec![at(8080, 3000), at(80, 9), at(3000, 3000)];
    let project = Path::new("/home/ada/project");
    let layout = Layout::of("/home/ada/.loop/run/R");
    let plan = plan(&authority, &host(), &layout, &subject(project)).unwrap();
    assert_eq!(plan.published, [9, 3000]);
    assert!(plan_of(PROFILE, "/home/ada/project").unwrap().published.is_empty());
}
