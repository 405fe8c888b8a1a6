//! Lets the kernel carry out what was permitted, and makes sure that it was that.
//!
//! The only file of the gate that changes anything. A program is loaded by the kernel, which reads
//! the caller's memory and walks its paths once more; both may have changed. So the new program is
//! stopped before its first instruction and compared with what was permitted.

use rustix::io::Errno;
use sys::notify::{Listener, Notification};
use sys::trace::{Stop, Tracee};

use super::action::Grant;
use super::program::Program;
use crate::gate::answer::Denied;
use crate::gate::memory::errno;
use crate::gate::view::Image;

/// What came of a permitted call to run a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gate) enum Ran {
    /// It runs, and it is what was permitted.
    AsPermitted,
    /// The kernel did not run it, or its caller is gone.
    Not,
    /// Something else was about to run. It was killed before its first instruction.
    Otherwise,
}

/// Lets the call go on, and holds the new program until it has been compared.
///
/// # Errors
/// When the caller can't be stopped, because somebody traces it.
pub(in crate::gate) fn run(
    listener: &Listener,
    call: &Notification,
    _grant: &Grant,
    program: &Program,
) -> Result<Ran, Denied> {
    let tracee = match Tracee::seize(call.thread).map_err(|error| errno(&error)) {
        Ok(tracee) => tracee,
        Err(Errno::PERM) => return Err(program.traced()),
        Err(errno) => return Err(errno.into()),
    };
    // A caller that is gone shows in the wait.
    let _ = listener.proceed(call.id);
    match tracee.wait().map_err(|error| errno(&error))? {
        Stop::Gone => Ok(Ran::Not),
        Stop::NotExecuted(tracee) => {
            // It may have been killed in the meantime, which is no less an end.
            let _ = tracee.release();
            Ok(Ran::Not)
        }
        Stop::Executed(tracee) => Ok(compare(tracee, program)?),
    }
}

fn compare(tracee: Tracee, program: &Program) -> Result<Ran, Errno> {
    let is_same = Image::of(tracee.process()).is_ok_and(|image| {
        image.program == program.image
            && image.args == program.args
            && image.directory == program.directory
    });
    if is_same {
        let _ = tracee.release();
        Ok(Ran::AsPermitted)
    } else {
        tracee.kill().map_err(|error| errno(&error))?;
        Ok(Ran::Otherwise)
    }
}
