//! Misuse that must not compile; the compiler's words are beside each program.

#[test]
fn does_not_compile() {
    let programs = trybuild::TestCases::new();
    programs.compile_fail("tests/misuse/*.rs");
}
