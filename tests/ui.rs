//! What must not compile, and what the compiler says about it.
//!
//! After a deliberate change of a message, `TRYBUILD=overwrite cargo test --test ui` writes the new answers.

#[test]
fn misuse_of_the_derive_is_a_compile_error_at_the_attribute() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
