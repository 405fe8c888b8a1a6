//! What is compiled in: by which names projects keep what their checks rest on.
//!
//! Everything is told by the path alone. Names that ordinary product code has, too, are not here;
//! such files are looked into instead (`flags`).

/// Directories, at any depth, that hold tests and nothing else.
const TEST_DIRECTORIES: &[&str] = &[
    "tests",
    "test",
    "__tests__",
    "__test__",
    "testdata",
    "test-data",
    "test_data",
    "testcases",
    "test-cases",
    "__snapshots__",
    "__mocks__",
    "__fixtures__",
    "e2e",
    "cypress",
    "playwright",
    "androidTest",
    "commonTest",
    "jvmTest",
    "testFixtures",
    "integTest",
    "integrationTest",
    "functionalTest",
    "integration-tests",
    "integration_tests",
    "unit-tests",
    "unit_tests",
    "acceptance-tests",
    "golden",
    "goldens",
];

/// Directories, at any depth, that say what is checked, how, or before what.
const STEERING_DIRECTORIES: &[&str] = &[
    ".github",
    ".gitlab",
    ".circleci",
    ".buildkite",
    ".forgejo",
    ".gitea",
    ".woodpecker",
    ".drone",
    ".teamcity",
    ".husky",
    ".githooks",
    ".git-hooks",
    ".cargo",
    ".mvn",
    ".yarn",
    ".bundle",
    ".loop",
];

/// Files, at any depth; `*` stands for any characters.
const STEERING_FILES: &[&str] = &[
    // CI
    ".gitlab-ci.yml",
    ".gitlab-ci.yaml",
    ".travis.yml",
    "azure-pipelines.yml",
    "azure-pipelines.yaml",
    "Jenkinsfile",
    ".drone.yml",
    ".woodpecker.yml",
    ".woodpecker.yaml",
    "appveyor.yml",
    ".appveyor.yml",
    "bitbucket-pipelines.yml",
    ".cirrus.yml",
    "cloudbuild.yaml",
    "buildspec.yml",
    "wercker.yml",
    "codecov.yml",
    ".codecov.yml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".pre-commit-config.yaml",
    ".lintstagedrc*",
    "lint-staged.config.*",
    // Runners of tests
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "noxfile.py",
    "nose.cfg",
    ".noserc",
    ".coveragerc",
    "conftest.py",
    "jest.config.*",
    "jest.setup.*",
    "jest.preset.*",
    "jest-*.config.*",
    "vitest.config.*",
    "vitest.workspace.*",
    "vitest.setup.*",
    "setupTests.*",
    ".mocharc*",
    "mocha.opts",
    "karma.conf.*",
    "playwright.config.*",
    "cypress.config.*",
    "cypress.json",
    "ava.config.*",
    ".c8rc*",
    ".nycrc*",
    "nyc.config.*",
    "jasmine.json",
    "wdio.conf.*",
    "phpunit.xml",
    "phpunit.xml.dist",
    "phpunit.dist.xml",
    ".rspec",
    ".simplecov",
    "behat.yml",
    "codeception.yml",
    "nextest.toml",
    "*.runsettings",
    "xunit.runner.json",
    "testng.xml",
    "junit-platform.properties",
    "CTestConfig.cmake",
    "CTestCustom.cmake",
    "CTestTestfile.cmake",
    "test_helper.exs",
    ".testcafe*",
    ".proverc",
    "tarpaulin.toml",
    ".tarpaulin.toml",
    // Lints, types, formats
    ".eslintrc*",
    "eslint.config.*",
    ".eslintignore",
    ".prettierrc*",
    "prettier.config.*",
    ".prettierignore",
    "biome.json",
    "biome.jsonc",
    ".flake8",
    ".pylintrc",
    "pylintrc",
    "ruff.toml",
    ".ruff.toml",
    "mypy.ini",
    ".mypy.ini",
    "pyrightconfig.json",
    ".isort.cfg",
    ".bandit",
    "clippy.toml",
    ".clippy.toml",
    "rustfmt.toml",
    ".rustfmt.toml",
    "deny.toml",
    ".golangci.*",
    "staticcheck.conf",
    ".rubocop*.yml",
    ".standard.yml",
    "phpcs.xml*",
    ".phpcs.xml*",
    "phpstan*.neon*",
    "psalm.xml*",
    ".php-cs-fixer*",
    "checkstyle*.xml",
    "pmd*.xml",
    "spotbugs*.xml",
    "detekt*.yml",
    ".editorconfig",
    ".clang-tidy",
    ".clang-format",
    ".stylelintrc*",
    "stylelint.config.*",
    ".markdownlint*",
    ".yamllint*",
    ".shellcheckrc",
    ".hadolint*",
    ".swiftlint.yml",
    ".swiftformat",
    ".scalafmt.conf",
    ".scalafix.conf",
    ".credo.exs",
    ".formatter.exs",
    "tslint.json",
    ".luacheckrc",
    "stylua.toml",
    ".jshintrc",
    "commitlint.config.*",
    ".commitlintrc*",
    "sonar-project.properties",
    "lint.toml",
    "lint.json",
    "lint.yml",
    "lint.yaml",
    "lint.ini",
    "lint.cfg",
    "lint.config.*",
    ".lintrc*",
    // What runs by itself where a runner starts
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "*.egg-link",
    "*.start",
    "gradlew",
    "gradlew.bat",
    "mvnw",
    "mvnw.cmd",
    "gradle-wrapper.*",
];

/// Test files by name, in any directory.
const TEST_FILES: &[&str] = &[
    "test_*.py",
    "*_test.py",
    "test.py",
    "tests.py",
    "*_test.go",
    "*.test.js",
    "*.test.jsx",
    "*.test.ts",
    "*.test.tsx",
    "*.test.mjs",
    "*.test.cjs",
    "*.test.mts",
    "*.test.cts",
    "*.spec.js",
    "*.spec.jsx",
    "*.spec.ts",
    "*.spec.tsx",
    "*.spec.mjs",
    "*.spec.cjs",
    "*.spec.mts",
    "*.spec.cts",
    "*-test.js",
    "*-test.mjs",
    "*-test.cjs",
    "*-test.ts",
    "*_test.js",
    "*_test.mjs",
    "*_test.ts",
    "*_test.tsx",
    "test-*.js",
    "test-*.mjs",
    "test-*.cjs",
    "test.js",
    "test.mjs",
    "test.cjs",
    "test.ts",
    "test.tsx",
    "tests.js",
    "*-spec.js",
    "*-spec.ts",
    "*.cy.js",
    "*.cy.ts",
    "*_spec.rb",
    "*_test.rb",
    "test_*.rb",
    "test.rb",
    "spec_helper.rb",
    "rails_helper.rb",
    "test_helper.rb",
    "*Test.java",
    "*Tests.java",
    "*TestCase.java",
    "*IT.java",
    "*Test.kt",
    "*Tests.kt",
    "*Spec.kt",
    "*Test.groovy",
    "*Spec.groovy",
    "*Test.scala",
    "*Spec.scala",
    "*Suite.scala",
    "*Test.php",
    "*Test.cs",
    "*Tests.cs",
    "*Test.fs",
    "*Tests.fs",
    "*_test.exs",
    "*_test.c",
    "*_test.cc",
    "*_test.cpp",
    "*_test.cxx",
    "*_tests.cpp",
    "*_unittest.cc",
    "*_unittest.cpp",
    "test_*.c",
    "test_*.cc",
    "test_*.cpp",
    "test.c",
    "test.cc",
    "test.cpp",
    "tests.c",
    "tests.cpp",
    "*_test.dart",
    "*Test.swift",
    "*Tests.swift",
    "*_test.lua",
    "*_spec.lua",
    "*_SUITE.erl",
    "*_tests.erl",
    "*_test.clj",
    "*_test.ml",
    "test_*.ml",
    "*Spec.hs",
    "*.bats",
    "*.feature",
    "*.test.sh",
    "*_test.sh",
    "test.sh",
    "tests.sh",
    "check.sh",
    "checks.sh",
    "verify.sh",
    "lint.sh",
    "ci.sh",
    "test-*.sh",
    "test_*.sh",
    "run_tests.*",
    "run-tests.*",
    "runtests.*",
    "*.t",
    "test_*.jl",
    "runtests.jl",
    "test-*.R",
    "test_*.R",
];

/// Modules that runners of Python consist of: a file or a directory of such a name would be
/// imported in their place.
const RUNNER_MODULES: &[&str] = &[
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "unittest",
    "unittest2",
    "doctest",
    "nose",
    "nose2",
    "coverage",
    "xdist",
    "hypothesis",
    "tox",
    "nox",
    "trial",
    "mock",
    "pytest_cov",
    "pytest_asyncio",
    "pytest_mock",
    "pytest_django",
    "anyio",
    "_virtualenv",
    "__editable__",
    "_distutils_hack",
];

/// What tools leave behind: results and copies of an earlier time, or programs in the place of
/// those of the machine. Whoever could put them there could decide what a later run says.
const LEFT_OVERS: &[&str] = &[
    "node_modules",
    "bower_components",
    ".venv",
    "venv",
    "virtualenv",
    "__pycache__",
    "__pypackages__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".tox",
    ".nox",
    ".eggs",
    ".turbo",
    ".nx",
    ".parcel-cache",
    ".jest-cache",
    ".vitest",
    ".nyc_output",
    ".gradle",
    ".ccache",
    ".stack-work",
    "dist-newstyle",
    ".dart_tool",
    ".bloop",
    ".metals",
    "CMakeFiles",
    ".phpunit.cache",
];

const LEFT_OVER_FILES: &[&str] = &[
    "*.pyc",
    "*.pyo",
    ".eslintcache",
    ".stylelintcache",
    ".phpunit.result.cache",
    "*.tsbuildinfo",
    "CMakeCache.txt",
    ".coverage",
    ".rustc_info.json",
];

/// Below a directory `target`: what Cargo makes there.
const CARGO_OUTPUT: &[&str] = &["debug", "release", ".rustc_info.json", "tmp", "nextest", "doc"];

/// Git's own directory, or a file in its place.
pub(super) fn is_git(path: &[u8]) -> bool {
    names(path).any(|name| name.eq_ignore_ascii_case(b".git"))
}

/// What Git writes when it is used: commits, references, the index. Not what it is told to do by.
pub(super) fn is_record_of_git(path: &[u8]) -> bool {
    let mut below = names(path).skip_while(|name| !name.eq_ignore_ascii_case(b".git")).skip(1);
    let first = below.next();
    let steers = |name: &[u8]| name.starts_with(b"config") || is_among(name, &["hooks", "info"]);
    first.is_some_and(|first| !steers(first)) && !below.any(steers)
}

/// What the base's version counts of, whatever the contract says besides.
pub(super) fn holds(path: &[u8]) -> bool {
    steers(path) || is_test_file(path)
}

/// Whether the path is a test, or lies among tests, by its name. Sources of Rust below `src` are
/// none: there, tests are part of the product's files, and are looked at one by one.
pub(crate) fn is_test_file(path: &[u8]) -> bool {
    if is_rust_source(path) {
        return false;
    }
    let mut above: Vec<&[u8]> = names(path).collect();
    let name = above.pop().unwrap_or_default();
    let test_directory = |name: &[u8]| {
        is_among(name, TEST_DIRECTORIES) || name.ends_with(b".Tests") || name.ends_with(b".Test")
    };
    let specified = above.first().is_some_and(|root| is_among(root, &["spec", "specs"]));
    specified
        || above.into_iter().any(test_directory)
        || test_directory(name)
        || is_like_one(name, TEST_FILES)
}

/// A file of Rust that belongs to a crate's own sources: below `src`, which lies in no directory of
/// tests itself.
fn is_rust_source(path: &[u8]) -> bool {
    let all: Vec<&[u8]> = names(path).collect();
    let source = all.iter().position(|name| *name == b"src");
    let tests = all.iter().position(|name| is_among(name, TEST_DIRECTORIES));
    path.ends_with(b".rs") && source.is_some_and(|source| tests.is_none_or(|tests| source < tests))
}

/// Whether it says what is checked, how, or before what.
pub(super) fn steers(path: &[u8]) -> bool {
    let all: Vec<&[u8]> = names(path).collect();
    let name = all.last().copied().unwrap_or_default();
    all.iter().any(|name| is_among(name, STEERING_DIRECTORIES))
        || is_like_one(name, STEERING_FILES)
        || shadows_a_runner(&all)
        || all.iter().any(|name| name.ends_with(b".egg-info") || name.ends_with(b".dist-info"))
        || is_binstub(&all)
}

/// `pytest.py`, `unittest/case.py`, `pytest.cpython-312-x86_64-linux-gnu.so`.
fn shadows_a_runner(all: &[&[u8]]) -> bool {
    const MODULES: &[&[u8]] = &[b".py", b".so", b".pyd"];
    let Some((name, above)) = all.split_last() else { return false };
    let stem = name.split(|byte| *byte == b'.').next().unwrap_or_default();
    MODULES.iter().any(|end| name.ends_with(end))
        && (is_among(stem, RUNNER_MODULES)
            || above.iter().any(|name| is_among(name, RUNNER_MODULES)))
}

/// Programs of dependencies that projects carry: `vendor/bin/phpunit`, `bin/rspec`.
fn is_binstub(all: &[&[u8]]) -> bool {
    const RUNNERS: &[&str] =
        &["rspec", "rake", "phpunit", "pest", "cucumber", "minitest", "rubocop"];
    let carried = all.windows(2).any(|pair| match pair {
        [b"vendor", name] => is_among(name, &["bin", "composer"]) || is_among(name, RUNNERS),
        _ => false,
    });
    carried || matches!(all, [.., b"bin", name] if is_among(name, RUNNERS))
}

/// What tools leave behind. The contract can let it be used (`ignored`).
pub(super) fn is_left_over(path: &[u8]) -> bool {
    let all: Vec<&[u8]> = names(path).collect();
    let name = all.last().copied().unwrap_or_default();
    all.iter().any(|name| is_among(name, LEFT_OVERS))
        || is_like_one(name, LEFT_OVER_FILES)
        || all
            .windows(2)
            .any(|pair| matches!(pair, [b"target", below] if is_among(below, CARGO_OUTPUT)))
}

/// What a runner may write while it runs, wherever that is.
pub(crate) fn is_cache(path: &[u8]) -> bool {
    let all: Vec<&[u8]> = names(path).collect();
    let name = all.last().copied().unwrap_or_default();
    is_like_one(name, &["*.pyc", "*.pyo", "*.tmp", "*.log", "*.snap.new", "*.pending-snap"])
        || all.iter().any(|name| is_among(name, &[".cache", "coverage", "htmlcov"]))
}

fn names(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
}

fn is_among(name: &[u8], all: &[&str]) -> bool {
    all.iter().any(|one| one.as_bytes() == name)
}

fn is_like_one(name: &[u8], patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| crate::pattern::is_like(pattern.as_bytes(), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_the_usual_languages_are_known() {
        for path in [
            "tests/test_a.py",
            "pkg/test_a.py",
            "pkg/a_test.go",
            "src/a.test.ts",
            "a.spec.js",
            "spec/a_spec.rb",
            "src/test/java/A.java",
            "crates/x/tests/it/main.rs",
            "tests/src/lib.rs",
            "lib/__tests__/a.js",
            "test/a_test.exs",
            "Foo.Tests/A.cs",
            "test.sh",
            "a/testdata/x",
            "tests",
            "t/a.t",
            "src/__snapshots__/a.snap",
        ] {
            assert!(holds(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn what_steers_a_runner_is_known() {
        for path in [
            ".github/workflows/ci.yml",
            "conftest.py",
            "a/b/conftest.py",
            "sitecustomize.py",
            "x.pth",
            ".cargo/config.toml",
            "a/.cargo/config",
            ".husky/pre-commit",
            ".githooks/pre-push",
            "pytest.py",
            "unittest/__init__.py",
            "src/pytest.so",
            "clippy.toml",
            ".eslintrc.json",
            "jest.config.ts",
            "x.egg-info/entry_points.txt",
            "vendor/bin/phpunit",
            "bin/rspec",
            ".config/nextest.toml",
            "gradlew",
            ".loop/contract.toml",
        ] {
            assert!(holds(path.as_bytes()), "{path}");
        }
        assert!(is_git(b".git/hooks/pre-commit") && is_git(b"sub/.git"));
    }

    #[test]
    fn left_overs_are_known() {
        for path in [
            "node_modules/.bin/jest",
            "a/__pycache__/x.pyc",
            "target/debug/deps/x",
            ".venv/bin/python",
            "x.pyc",
            ".pytest_cache/v/x",
            "target/.rustc_info.json",
        ] {
            assert!(is_left_over(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn what_git_writes_down_is_told_from_what_it_obeys() {
        for path in [".git/COMMIT_EDITMSG", ".git/index", "a/.git/objects/aa/bb", ".git/logs/HEAD"]
        {
            assert!(is_record_of_git(path.as_bytes()), "{path}");
        }
        for path in
            [".git", ".git/config", ".git/hooks/pre-commit", ".git/modules/a/config", "a/index"]
        {
            assert!(!is_record_of_git(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn product_code_is_not_held() {
        for path in [
            "src/lib.rs",
            "src/tests.rs",
            "src/parser/tests/mod.rs",
            "Cargo.toml",
            "package.json",
            "src/testing/mod.rs",
            "pkg/latest.py",
            "src/contest.ts",
            "attest.go",
            "README.md",
            "src/target/mod.rs",
            "src/spec.rs",
            "docs/testing.md",
            "Makefile",
            "app/pytest_notes.md",
            "src/main/java/Tester.java",
            "lib/specification.rb",
            "mock.js",
            "mock/mock.go",
            "bin/app",
            "src/main/java/com/target/doc.java",
            "go.mod",
            "vendor/github.com/x/y.go",
        ] {
            assert!(!holds(path.as_bytes()) && !is_left_over(path.as_bytes()), "{path}");
        }
    }
}
