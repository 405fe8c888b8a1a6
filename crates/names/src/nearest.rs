//! The word a person may have meant.

/// The candidate that is most similar to `given`, if one is similar enough to be a slip.
#[must_use]
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase().replace('_', "-");
    if given.chars().count() > 40 {
        return None;
    }
    let distance =
        |candidate: &str| strsim::osa_distance(&given, &candidate.to_lowercase().replace('_', "-"));
    let scored = candidates.into_iter().map(|candidate| (distance(candidate), candidate));
    let (distance, candidate) = scored.min_by_key(|(distance, _)| *distance)?;
    let slip = (given.chars().count() / 3).max(1);
    (distance <= slip).then_some(candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let keys = ["memory", "cpus", "processes", "user_namespaces", "may_change"];
        assert_eq!(nearest("memroy", keys), Some("memory"));
        assert_eq!(nearest("Memory", keys), Some("memory"));
        assert_eq!(nearest("cpu", keys), Some("cpus"));
        assert_eq!(nearest("user-namespaces", keys), Some("user_namespaces"));
        assert_eq!(nearest("may-change", keys), Some("may_change"));
        assert_eq!(nearest("swap", keys), None);
        assert_eq!(nearest(&"m".repeat(100), keys), None);
    }
}
