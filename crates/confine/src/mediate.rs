//! Which system calls stop and ask the control plane: one more classic BPF program.
//!
//! Only what a rule is about gets here. A refusal of the deny list is stronger than a question, so
//! nothing that is refused can be asked for: seccomp(2).

use std::os::fd::OwnedFd;

use seccompiler::sock_filter;

use crate::plan::Mediate;
use crate::report::{During, Facility, Failure};

/// Ways to run a program.
const EXEC: &[i64] = &[libc::SYS_execve, libc::SYS_execveat];

/// Ways to change what a name stands for, whatever their arguments.
const NAMES: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    // Its flags are in memory, out of the filter's reach.
    libc::SYS_openat2,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_truncate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Calls that change something only with these bits in this argument.
const WITH_BITS: &[(i64, u8, i32)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, CHANGING),
    (libc::SYS_openat, 2, CHANGING),
    // Whether a file could be written: access(2).
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_access, 1, libc::W_OK),
    (libc::SYS_faccessat, 2, libc::W_OK),
    (libc::SYS_faccessat2, 2, libc::W_OK),
];

/// Flags without which an open changes nothing: open(2).
const CHANGING: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;

/// Installs the program for `mediate`; returns where its questions are answered and its bytes.
///
/// # Errors
/// A kernel that can't ask.
pub(crate) fn install(mediate: &Mediate) -> Result<Option<(OwnedFd, Vec<u8>)>, Failure> {
    if *mediate == Mediate::default() {
        return Ok(None);
    }
    let program = program(mediate);
    let mut instructions: Vec<_> = program.iter().map(instruction).collect();
    let listener = sys::notify::install_filter(&mut instructions)
        .during(Facility::Seccomp, "install the filter that asks")?;
    Ok(Some((listener, crate::filter::bytes(&program))))
}

/// The same instruction, as the C library spells it.
fn instruction(op: &sock_filter) -> sys::notify::Instruction {
    sys::notify::Instruction { code: op.code, jt: op.jt, jf: op.jf, k: op.k }
}

fn program(mediate: &Mediate) -> Vec<sock_filter> {
    let mut program = vec![load(NUMBER)];
    if mediate.exec {
        EXEC.iter().for_each(|&call| program.extend(ask_about(call)));
    }
    if !mediate.trees.is_empty() {
        NAMES.iter().for_each(|&call| program.extend(ask_about(call)));
        WITH_BITS.iter().for_each(|&with| program.extend(ask_about_bits(with)));
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    program
}

/// Offset of the call's number in `seccomp_data`: seccomp(2).
const NUMBER: u32 = 0;

/// Offset of the low half of an argument.
fn low_half(argument: u8) -> u32 {
    const ARGUMENTS: u32 = 16;
    let high_first = if cfg!(target_endian = "big") { 4 } else { 0 };
    ARGUMENTS + 8 * u32::from(argument) + high_first
}

fn ask_about(call: i64) -> [sock_filter; 2] {
    [jump(EQUAL, number(call), 0, 1), answer(libc::SECCOMP_RET_USER_NOTIF)]
}

fn ask_about_bits((call, argument, bits): (i64, u8, i32)) -> [sock_filter; 5] {
    [
        jump(EQUAL, number(call), 0, 4),
        load(low_half(argument)),
        jump(ANY_BIT, bits.cast_unsigned(), 0, 1),
        answer(libc::SECCOMP_RET_USER_NOTIF),
        answer(libc::SECCOMP_RET_ALLOW),
    ]
}

/// Every number of the tables is small and positive.
fn number(call: i64) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

const EQUAL: u32 = libc::BPF_JEQ;
const ANY_BIT: u32 = libc::BPF_JSET;

fn load(offset: u32) -> sock_filter {
    op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset)
}

fn jump(test: u32, value: u32, then: u8, otherwise: u8) -> sock_filter {
    op(libc::BPF_JMP | test | libc::BPF_K, then, otherwise, value)
}

fn answer(verdict: u32) -> sock_filter {
    op(libc::BPF_RET | libc::BPF_K, 0, 0, verdict)
}

fn op(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    // Every code is one byte.
    sock_filter { code: u16::try_from(code).unwrap_or(0), jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the program answers, by a second reading of classic BPF.
    fn run(program: &[sock_filter], call: i64, args: [u64; 6]) -> u32 {
        let mut data = vec![0_u8; 16];
        data[..4].copy_from_slice(&u32::try_from(call).unwrap().to_le_bytes());
        args.iter().for_each(|arg| data.extend(arg.to_le_bytes()));
        let (mut at, mut accumulator) = (0_usize, 0_u32);
        loop {
            let op = &program[at];
            at += 1;
            match u32::from(op.code) {
                0x20 => {
                    let from = op.k as usize;
                    accumulator = u32::from_le_bytes(data[from..from + 4].try_into().unwrap());
                }
                0x15 => at += usize::from(if accumulator == op.k { op.jt } else { op.jf }),
                0x45 => at += usize::from(if accumulator & op.k != 0 { op.jt } else { op.jf }),
                0x06 => return op.k,
                code => panic!("unknown code {code:#x}"),
            }
        }
    }

    const ASK: u32 = libc::SECCOMP_RET_USER_NOTIF;
    const GO: u32 = libc::SECCOMP_RET_ALLOW;

    #[test]
    fn only_what_is_mediated_asks() {
        let exec = program(&Mediate { exec: true, trees: vec![] });
        let files = program(&Mediate { exec: false, trees: vec!["/x".into()] });
        for call in 0..470 {
            let wanted = |list: &[i64]| if list.contains(&call) { ASK } else { GO };
            assert_eq!(run(&exec, call, [0; 6]), wanted(EXEC), "{call}");
            assert_eq!(run(&files, call, [0; 6]), wanted(NAMES), "{call}");
        }
    }

    #[test]
    fn an_open_asks_only_if_it_can_change_something() {
        let files = program(&Mediate { exec: true, trees: vec!["/x".into()] });
        let flags = |call, flags: i32| {
            let at = if call == libc::SYS_openat { 2 } else { 1 };
            let mut args = [0_u64; 6];
            args[at] = flags.cast_unsigned().into();
            run(&files, call, args)
        };
        for &(call, ..) in WITH_BITS.iter().filter(|with| with.2 == CHANGING) {
            for reading in [0, libc::O_CLOEXEC | libc::O_DIRECTORY, libc::O_PATH | libc::O_NOFOLLOW]
            {
                assert_eq!(flags(call, reading), GO, "{call} {reading:#o}");
            }
            for changing in [
                libc::O_WRONLY,
                libc::O_RDWR | libc::O_CLOEXEC,
                libc::O_CREAT,
                libc::O_TRUNC,
                libc::O_TMPFILE | libc::O_RDWR,
            ] {
                assert_eq!(flags(call, changing), ASK, "{call} {changing:#o}");
            }
        }
        let access =
            |mode: i32| run(&files, libc::SYS_access, [0, mode.cast_unsigned().into(), 0, 0, 0, 0]);
        assert_eq!((access(libc::R_OK | libc::X_OK), access(libc::W_OK)), (GO, ASK));
        let mut high = [0_u64; 6];
        high[2] = 1 << 32;
        assert_eq!(run(&files, libc::SYS_openat, high), GO, "the kernel ignores the upper half");
    }
}
