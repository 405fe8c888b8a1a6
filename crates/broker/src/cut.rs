//! Actions that are too large: their size, and what of them fits into a record.

use names::Digest;
use policy::{Action, Exec};

/// How many bytes of an action are the sandbox's own choice without a bound of the kernel's: the
/// arguments of a program. Paths and names have bounds of their own.
pub(crate) fn size(action: &Action) -> usize {
    match action {
        Action::Exec(exec) => exec.args.iter().map(String::len).sum(),
        _ => 0,
    }
}

/// The action with its arguments told by number, size and digest instead of shown.
pub(crate) fn short(action: &Action) -> Action {
    match action {
        Action::Exec(exec) => {
            let args = &exec.args;
            let parts: Vec<_> = args.iter().map(String::as_bytes).collect();
            let digest = Digest::of_parts("loop-arguments-v1", &parts);
            let told = format!("[{} arguments, {} bytes, {digest}]", args.len(), size(action));
            Action::Exec(Exec { args: vec![told], ..exec.clone() })
        }
        other => other.clone(),
    }
}
