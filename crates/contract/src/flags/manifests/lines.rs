//! Manifests that are programs, or have a form of their own: looked at line by line.

use super::{Change, STEERS};
use crate::expressions::{Expression, expression, is_like};
use crate::flags::Found;
use crate::flags::compare::Comparison;

/// Which changed lines are ordinary, and which are not.
pub(super) struct Lines {
    /// Every changed line has to be like this, where it is there.
    pub(super) ordinary: Option<&'static Expression>,
    /// No changed line may be like this.
    pub(super) steering: Option<&'static Expression>,
    /// Whether a new file that lies aside is ordinary.
    pub(super) aside: bool,
}

#[cfg(test)]
pub(super) const ALL: &[&Lines] = &[
    &GO_MOD,
    &GO_WORK,
    &GEMFILE,
    &POM,
    &CMAKE,
    &MESON,
    &MIX,
    &SWIFT,
    &SETUP_PY,
    &SBT,
    &MAKEFILE,
    &LOCK,
    &GRADLE,
    &DOTNET,
    &CABAL,
    &GEMSPEC,
    &REQUIREMENTS,
];

pub(super) fn look(change: &Change<'_>, lines: &Lines) -> Vec<Found> {
    if lines.aside && change.is_new_and_aside() {
        return Vec::new();
    }
    let comparison = Comparison::of(change.before.unwrap_or_default(), change.after);
    let steers = |text: &str| {
        let is = |expression: &Expression| is_like(expression, text);
        lines.steering.is_some_and(is) || lines.ordinary.is_some_and(|ordinary| !is(ordinary))
    };
    let mut steering = comparison.changed().filter(|(line, _)| steers(&line.text));
    match steering.next() {
        Some((line, true)) => vec![Found::at(line.number, STEERS)],
        Some((_, false)) => vec![Found::whole(format!("{STEERS}; a line of the base is gone"))],
        None => Vec::new(),
    }
}

expression!(
    GO_MOD_LINES,
    r"^\s*(?:(?:require\s+)?[\w./~-]+\s+v[\w.+-]+(?:\s*//.*)?|require\s*\(|\)|go\s+[\d.]+|//.*)$"
);
pub(super) static GO_MOD: Lines =
    Lines { ordinary: Some(&GO_MOD_LINES), steering: None, aside: true };

expression!(GO_WORK_LINES, r"^\s*(?:(?:use\s+)?\./[\w./-]+|use\s*\(|\)|//.*)$");
pub(super) static GO_WORK: Lines =
    Lines { ordinary: Some(&GO_WORK_LINES), steering: None, aside: false };

expression!(
    GEMFILE_LINES,
    r#"^\s*(?:gem\s+["'][\w-]+["'](?:\s*,\s*["'][^"']*["'])*(?:\s*,\s*(?:require|group|groups|platforms?):\s*[^,]+)*|group\b.*\bdo|end|ruby\b.*|#.*)$"#
);
expression!(GEMFILE_STEERS, r"\b(?:path|git|github|gist|source|eval_gemfile|instance_eval)\b");
pub(super) static GEMFILE: Lines =
    Lines { ordinary: Some(&GEMFILE_LINES), steering: Some(&GEMFILE_STEERS), aside: true };

expression!(
    POM_LINES,
    r"^\s*(?:</?(?:dependency|dependencies|exclusions?|properties|modules)>|<(?:groupId|artifactId|version|scope|type|optional|classifier|name|description|url|module)>[^<]*</\w+>|<[\w.-]*[vV]ersion>[^<]*</[\w.-]+>|<!--.*)\s*$"
);
expression!(POM_STEERS, r"(?i)surefire|failsafe|skip|system|junit|testng|plugin");
pub(super) static POM: Lines =
    Lines { ordinary: Some(&POM_LINES), steering: Some(&POM_STEERS), aside: true };

expression!(
    CMAKE_STEERS,
    r"(?i)\b(?:add_test|enable_testing|set_tests_properties|gtest\w*|catch_discover\w*|doctest\w*|ctest\w*|include_directories\s*\(\s*(?:BEFORE|SYSTEM)|add_custom_target|add_custom_command|execute_process|configure_file|file\s*\(\s*(?:WRITE|GENERATE|APPEND|DOWNLOAD)|return\s*\(|macro\s*\(|function\s*\(|BUILD_TESTING|NDEBUG|CMAKE_\w*(?:LAUNCHER|COMPILER|EMULATOR)\w*|link_options|-Wl,|test)\b"
);
pub(super) static CMAKE: Lines =
    Lines { ordinary: None, steering: Some(&CMAKE_STEERS), aside: false };

expression!(
    MESON_STEERS,
    r"\b(?:test|benchmark|add_test_setup|run_command|custom_target|run_target|find_program|add_project_arguments|add_global_arguments|subdir_done|override_find_program|configure_file)\b"
);
pub(super) static MESON: Lines =
    Lines { ordinary: None, steering: Some(&MESON_STEERS), aside: false };

expression!(
    MIX_LINES,
    r#"^\s*(?:\{:\w+,\s*"[^"]*"(?:,\s*(?:only|runtime|optional):[^{}]*)?\},?|version:\s*"[^"]*",?|description:.*|#.*|\]|\[)\s*$"#
);
pub(super) static MIX: Lines = Lines { ordinary: Some(&MIX_LINES), steering: None, aside: true };

expression!(
    SWIFT_STEERS,
    r"\b(?:testTarget|exclude|unsafeFlags|plugins?|swiftSettings|linkerSettings|path|binaryTarget|macro|XCTest)\b"
);
pub(super) static SWIFT: Lines =
    Lines { ordinary: None, steering: Some(&SWIFT_STEERS), aside: true };

expression!(
    SETUP_PY_LINES,
    r#"^\s*(?:(?:version|name|description|author|author_email|url|license|python_requires|long_description)\s*=\s*["'][^"']*["'],?|["'][\w.\[\]-]+\s*(?:[<>=!~][^"']*)?["'],?|install_requires\s*=\s*\[.*|\],?|#.*)\s*$"#
);
pub(super) static SETUP_PY: Lines =
    Lines { ordinary: Some(&SETUP_PY_LINES), steering: None, aside: true };

expression!(
    SBT_LINES,
    r#"^\s*(?:libraryDependencies\s*\+?\+=.*%.*|"[^"]+"\s*%%?%?\s*"[^"]+"\s*%\s*"[^"]+".*|version\s*:=.*|name\s*:=.*|\),?|//.*)$"#
);
pub(super) static SBT: Lines = Lines { ordinary: Some(&SBT_LINES), steering: None, aside: true };

// Lists of files, and rules without a recipe between files.
expression!(
    MAKEFILE_LINES,
    r"^(?:#.*|\w*(?:SRCS?|SOURCES?|OBJS?|OBJECTS?|HEADERS?|HDRS?|DEPS)\w*\s*[:+?]?=(?:\s*(?:[\w./-]+\.\w+|\$[({]\w+[)}]))*\s*\\?|[\w./-]+\.o\s*:(?:\s*[\w./-]+\.\w+)*|\s+[\w./-]+\.(?:c|cc|cpp|h|hpp|o|s|S|java|ml|hs|f90)\s*\\?)$"
);
pub(super) static MAKEFILE: Lines =
    Lines { ordinary: Some(&MAKEFILE_LINES), steering: None, aside: true };

// Locks: what comes from this machine.
expression!(
    LOCK_STEERS,
    r#"(?:\bfile:|\blink:|\bportal:|\bpath\s*=|^\s+remote:\s*\.|editable|directory\s*=)"#
);
pub(super) static LOCK: Lines = Lines { ordinary: None, steering: Some(&LOCK_STEERS), aside: true };

expression!(
    GRADLE_LINES,
    r#"^\s*(?:(?:implementation|api|compileOnly|runtimeOnly|annotationProcessor|kapt|ksp|testImplementation|testRuntimeOnly|developmentOnly)[\s(]+(?:["'][\w.:${}@-]+["']|libs\.[\w.]+|platform\(["'][\w.:${}-]+["']\)|project\(["'][\w:.-]+["']\))\)?|version\s*=?\s*["'][^"']*["']|group\s*=?\s*["'][^"']*["']|include[\s(]+["'][\w:,"' -]+["']\)?|dependencies\s*\{|\}|//.*)\s*$"#
);
pub(super) static GRADLE: Lines =
    Lines { ordinary: Some(&GRADLE_LINES), steering: None, aside: true };

expression!(
    DOTNET_LINES,
    r#"(?i)^\s*(?:</?ItemGroup>|<(?:PackageReference|ProjectReference|Compile|EmbeddedResource|None|Content|Folder)\s+(?:Include|Update)="[^"]*"[^<>]*/?>|</(?:PackageReference|ProjectReference|Content|None)>|<(?:Version|AssemblyVersion|FileVersion|Description|Authors|Company|Product|PackageId|RootNamespace|CopyToOutputDirectory|PrivateAssets|IncludeAssets)>[^<]*</\w+>|<!--.*)\s*$"#
);
pub(super) static DOTNET: Lines =
    Lines { ordinary: Some(&DOTNET_LINES), steering: None, aside: true };

expression!(
    CABAL_LINES,
    r"(?i)^\s*(?:(?:version|synopsis|description|build-depends|exposed-modules|other-modules)\s*:.*|,?\s*[\w-]+(?:\s*[<>=^&|].*)?,?|[A-Z][\w.]*,?|--.*)\s*$"
);
expression!(
    CABAL_STEERS,
    r"(?i)test-suite|custom-setup|build-type|cpp-options|ghc-options|buildable"
);
pub(super) static CABAL: Lines =
    Lines { ordinary: Some(&CABAL_LINES), steering: Some(&CABAL_STEERS), aside: true };

expression!(
    GEMSPEC_LINES,
    r"^\s*(?:\w+\.(?:add_(?:runtime_|development_)?dependency|version|summary|description|authors?|email|homepage|license|required_ruby_version|name|dependency)\b.*|#.*)$"
);
expression!(GEMSPEC_STEERS, r"`|%x|\bsystem\b|\bexec\b|\beval\b|\brequire\b|\bload\b");
pub(super) static GEMSPEC: Lines =
    Lines { ordinary: Some(&GEMSPEC_LINES), steering: Some(&GEMSPEC_STEERS), aside: true };

expression!(
    REQUIREMENTS_LINES,
    r"^\s*(?:[A-Za-z0-9][\w.-]*(?:\[[\w,.\s-]*\])?\s*(?:(?:[<>=!~]=?=?|;)[^@]*)?\\?|--hash=\S+\s*\\?|#.*)$"
);
pub(super) static REQUIREMENTS: Lines =
    Lines { ordinary: Some(&REQUIREMENTS_LINES), steering: None, aside: true };
