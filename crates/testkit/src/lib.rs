//! Fakes, namespaces and scratch repositories for tests.
