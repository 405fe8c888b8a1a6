//! Which system calls are refused: a deny list, as two classic BPF programs.
//!
//! What does not exist in the sandbox answers `ENOSYS`, so that programs fall back; what is
//! forbidden answers `EPERM`. Calls of another architecture kill the process. Numbers above the
//! newest call that this list has considered, the x32 calls among them, answer `ENOSYS`: a call
//! that nobody looked at is not let through.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

use crate::plan::Filter;

/// The newest system call this list has considered: `listns`, Linux 6.19.
const NEWEST_CONSIDERED: u32 = 470;

/// Namespaces that a process could make for itself: clone(2), unshare(2).
const NAMESPACES: [i32; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80, // CLONE_NEWTIME
];

/// Calls that programs must believe to be absent.
const ABSENT: &[i64] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Its flags are in memory, out of the filter's reach; C libraries fall back to clone.
    libc::SYS_clone3,
];

/// Calls that are refused whatever their arguments.
const REFUSED: &[i64] = &[
    // mounts
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    467, // open_tree_attr, Linux 6.15
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    // other namespaces
    libc::SYS_setns,
    // files by handle, past every view
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // kernel attack surface that no build needs
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_vhangup,
    // keyrings of the person
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // the machine
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_iopl,
    libc::SYS_ioperm,
];

/// Socket families that a sandbox has a use for: socket(2).
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Terminal requests that type into, or read from, somebody's terminal: ioctl_tty(2).
const TERMINAL_REQUESTS: [u32; 3] = [
    0x5412, // TIOCSTI
    0x541C, // TIOCLINUX
    0x541D, // TIOCCONS
];

/// The programs to install, in this order.
///
/// # Errors
/// A message when a rule can't be expressed; with the tables above it always can.
pub(crate) fn programs(filter: Filter) -> Result<Vec<BpfProgram>, String> {
    let absent = ABSENT.iter().map(|&number| (number, Vec::new())).collect();
    let absent = with_ceiling(compile(absent, libc::ENOSYS)?);
    Ok(vec![absent, compile(refused(filter)?, libc::EPERM)?])
}

fn refused(filter: Filter) -> Result<BTreeMap<i64, Vec<SeccompRule>>, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|&number| (number, Vec::new())).collect();
    rules.insert(libc::SYS_socket, sockets()?);
    rules.insert(libc::SYS_socketpair, vec![not_any_of(0, &FAMILIES)?]);
    rules.insert(libc::SYS_ioctl, each(&TERMINAL_REQUESTS, |request| equals(1, request))?);
    if !filter.user_namespaces {
        rules.insert(libc::SYS_clone, each(&NAMESPACES, |flag| has_flag(0, flag))?);
        rules.insert(libc::SYS_unshare, each(&NAMESPACES, |flag| has_flag(0, flag))?);
    }
    Ok(rules)
}

fn sockets() -> Result<Vec<SeccompRule>, String> {
    let route_only = rule(vec![
        condition(0, SeccompCmpOp::Eq, libc::AF_NETLINK as u64)?,
        condition(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE as u64)?,
    ])?;
    // SOCK_RAW, whatever flags are or-ed to the type: socket(2).
    let raw = rule(vec![
        condition(0, SeccompCmpOp::Ne, libc::AF_NETLINK as u64)?,
        condition(1, SeccompCmpOp::MaskedEq(0xf), libc::SOCK_RAW as u64)?,
    ])?;
    Ok(vec![not_any_of(0, &FAMILIES)?, route_only, raw])
}

fn not_any_of(argument: u8, values: &[i32]) -> Result<SeccompRule, String> {
    let conditions = values
        .iter()
        .map(|&value| condition(argument, SeccompCmpOp::Ne, u64::from(value.cast_unsigned())));
    rule(conditions.collect::<Result<_, _>>()?)
}

fn equals(argument: u8, value: u32) -> Result<SeccompRule, String> {
    rule(vec![condition(argument, SeccompCmpOp::Eq, u64::from(value))?])
}

fn has_flag(argument: u8, flag: i32) -> Result<SeccompRule, String> {
    let flag = u64::from(flag.cast_unsigned());
    rule(vec![condition(argument, SeccompCmpOp::MaskedEq(flag), flag)?])
}

fn each<T: Copy>(
    values: &[T],
    make: impl Fn(T) -> Result<SeccompRule, String>,
) -> Result<Vec<SeccompRule>, String> {
    values.iter().map(|&value| make(value)).collect()
}

/// Arguments are compared in their lower 32 bits, as the kernel does for all of these.
fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, String> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        .map_err(|error| error.to_string())
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, String> {
    SeccompRule::new(conditions).map_err(|error| error.to_string())
}

fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, String> {
    let architecture = std::env::consts::ARCH
        .try_into()
        .map_err(|_| format!("no system call filter for {}", std::env::consts::ARCH))?;
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno.cast_unsigned()),
        architecture,
    )
    .and_then(TryInto::try_into)
    .map_err(|error: seccompiler::BackendError| error.to_string())
}

/// Puts "a number above the newest considered answers ENOSYS" in front of a program.
///
/// The number is the first word of `seccomp_data`: seccomp(2). Foreign architectures, whose
/// numbers mean something else, are killed by the second program whatever this one answers.
fn with_ceiling(program: BpfProgram) -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_GREATER: u16 = 0x25;
    const RETURN: u16 = 0x06;
    const RETURN_ERRNO: u32 = 0x0005_0000;
    let ceiling = [
        sock_filter { code: LOAD_WORD, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_GREATER, jt: 0, jf: 1, k: NEWEST_CONSIDERED },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: RETURN_ERRNO | libc::ENOSYS.cast_unsigned() },
    ];
    ceiling.into_iter().chain(program).collect()
}

/// The bytes of a program, for the digest in the enforcement report.
pub(crate) fn bytes(program: &[sock_filter]) -> Vec<u8> {
    program
        .iter()
        .flat_map(|op| {
            let [a, b] = op.code.to_le_bytes();
            let [w, x, y, z] = op.k.to_le_bytes();
            [a, b, op.jt, op.jf, w, x, y, z]
        })
        .collect()
}
