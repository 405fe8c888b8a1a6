//! Landlock: reading and running anything in the view, changing only what the plan names.
//!
//! The view already contains the processes. Landlock holds the second line: a file that is reached
//! past the view, through a descriptor or a magic link, belongs to no permitted tree.

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};

use crate::plan::Rights;
use crate::report::{Facility, Failure};

/// Rights without which a sandbox is refused. ABI 2 is the first under which files can be renamed
/// and linked between directories, which ordinary work does.
const REQUIRED: ABI = ABI::V2;
/// Rights that are taken where the kernel has them: truncation, device requests, and the scopes,
/// each of which the mounts and namespaces enforce too.
const WANTED: ABI = ABI::V6;

/// Restricts this process and its children; returns the ABI in force.
///
/// # Errors
/// A kernel without Landlock of the required ABI, or a tree that does not exist.
pub(crate) fn restrict(rights: &Rights) -> Result<u32, Failure> {
    let fail = |error: &dyn std::fmt::Display| {
        Failure::new(Facility::Landlock, "restrict the processes", error)
    };
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(REQUIRED))
        .map_err(|error| fail(&error))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))
        .map_err(|error| fail(&error))?
        .scope(Scope::from_all(WANTED))
        .map_err(|error| fail(&error))?
        .create()
        .map_err(|error| fail(&error))?;
    ruleset = ruleset.add_rule(beneath("/", AccessFs::from_read(WANTED))?).map_err(|e| fail(&e))?;
    for tree in &rights.write {
        ruleset =
            ruleset.add_rule(beneath(tree, AccessFs::from_all(WANTED))?).map_err(|e| fail(&e))?;
    }
    let status = ruleset.restrict_self().map_err(|error| fail(&error))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(fail(&"not enforced"));
    }
    match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => Ok(effective_abi as u32),
        LandlockStatus::NotEnabled => Err(fail(&"switched off at boot")),
        LandlockStatus::NotImplemented => Err(fail(&"not built into this kernel")),
    }
}

fn beneath(
    tree: impl AsRef<std::path::Path>,
    access: BitFlags<AccessFs>,
) -> Result<PathBeneath<PathFd>, Failure> {
    let tree = tree.as_ref();
    let open = PathFd::new(tree).map_err(|error| {
        Failure::new(Facility::Landlock, format!("open {}", tree.display()), &error)
    })?;
    let access = if tree.is_dir() { access } else { access & AccessFs::from_file(WANTED) };
    Ok(PathBeneath::new(open, access))
}
