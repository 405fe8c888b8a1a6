"""Every call about mounts. All but the first have arguments that change nothing, whoever calls."""

import ctypes
import os

from probe import attempt_in_child, considered, real_or_cannot, syscall

MOUNT, UMOUNT, PIVOT_ROOT, CHROOT, UNSHARE = 165, 166, 155, 161, 272
NEW_USER, NEW_MOUNT = 0x10000000, 0x00020000
NEW_CALLS = {
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
}
place = ctypes.c_char_p(os.getcwd().encode() + b"/.case")


def mount_here():
    """A file system of its own, in a mount namespace of its own where that is to be had."""
    own = syscall(UNSHARE, NEW_USER | NEW_MOUNT)[0] == 0
    if not own and os.geteuid() == 0 and syscall(UNSHARE, NEW_MOUNT)[0] != 0:
        return False
    kind = ctypes.c_char_p(b"tmpfs")
    return syscall(MOUNT, kind, place, kind, 0, 0)[0] == 0


attempt_in_child("mount", mount_here)
considered("umount", UMOUNT, place, 0)
considered("pivot_root", PIVOT_ROOT, 0, 0)
considered("chroot", CHROOT, place)
for name, number in NEW_CALLS.items():
    considered(name, number, -1, 0, 0, 0, 0)
real_or_cannot("this machine refuses mounts by itself")
