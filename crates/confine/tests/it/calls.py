import ctypes, errno, os, platform, signal, sys

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *args):
    ctypes.set_errno(0)
    padded = (args + (0,) * 6)[:6]
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_ulong(arg) for arg in padded])
    return 0 if result >= 0 else ctypes.get_errno()


def expect(name, found, wanted):
    if found not in wanted:
        print(name, "answered", errno.errorcode.get(found, found))


assert platform.machine() == "x86_64", "the numbers below are those of x86_64"
ABSENT, REFUSED = {errno.ENOSYS}, {errno.EPERM}
for name, number in dict(io_uring_setup=425, io_uring_enter=426, io_uring_register=427, clone3=435).items():
    expect(name, call(number), ABSENT)
for number in (471, 500, 1 << 30, (1 << 30) + 39, (1 << 30) + 512):
    expect("number %d" % number, call(number), ABSENT)
for name, number in dict(
    mount=165, umount2=166, pivot_root=155, chroot=161, fsopen=430, fsconfig=431, fsmount=432,
    fspick=433, open_tree=428, move_mount=429, mount_setattr=442, open_tree_attr=467, setns=308,
    name_to_handle_at=303, open_by_handle_at=304, bpf=321, userfaultfd=323, perf_event_open=298,
    add_key=248, request_key=249, keyctl=250, kexec_load=246, init_module=175, finit_module=313,
    delete_module=176, reboot=169, acct=163, syslog=103, swapon=167, swapoff=168, quotactl=179,
).items():
    expect(name, call(number), REFUSED)
for name, flag in dict(
    user=0x10000000, mount=0x20000, pid=0x20000000, net=0x40000000, ipc=0x8000000, uts=0x4000000,
    cgroup=0x2000000, time=0x80,
).items():
    expect("unshare " + name, call(272, flag), REFUSED)
    expect("unshare files and " + name, call(272, flag | 0x400), REFUSED)
    expect("clone " + name, call(56, flag | signal.SIGCHLD), REFUSED)
expect("unshare files", call(272, 0x400), {0})
AF_UNIX, AF_INET, AF_NETLINK, STREAM, DGRAM, RAW = 1, 2, 16, 1, 2, 3
for family in (3, 9, 17, 38, 40, 44):
    expect("family %d" % family, call(41, family, DGRAM), REFUSED)
    expect("pair of family %d" % family, call(53, family, DGRAM, 0, 0), REFUSED)
for protocol in (1, 4, 7, 9, 12, 15, 16):
    expect("netlink %d" % protocol, call(41, AF_NETLINK, RAW, protocol), REFUSED)
expect("raw socket", call(41, AF_INET, RAW, 1), REFUSED)
expect("raw socket with flags", call(41, AF_INET, RAW | 0o2000000, 255), REFUSED)
expect("high bits of the family", call(41, AF_NETLINK | (1 << 32), RAW, 4), REFUSED)
for args in ((AF_UNIX, STREAM), (AF_UNIX, DGRAM), (AF_INET, STREAM), (AF_INET, DGRAM), (10, STREAM), (AF_NETLINK, RAW, 0)):
    expect("socket %r" % (args,), call(41, *args), {0})
for request in (0x5412, 0x541C, 0x541D, 0x5412 | (1 << 32)):
    expect("ioctl %x" % request, call(16, 0, request, 0), REFUSED)

# The 32-bit entry: int 0x80 from 64-bit code. The process dies of it.
import mmap

pid = os.fork()
if pid == 0:
    code = bytes.fromhex("b8 14 00 00 00 cd 80 c3".replace(" ", ""))  # getpid
    area = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    area.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    os._exit(0)
status = os.waitpid(pid, 0)[1]
if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGSYS:
    print("a 32-bit call was not the end of its process:", status)
