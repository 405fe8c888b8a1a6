"""Each call once. The kernel looking at the arguments is the effect.

None of these arguments can have a real one, whoever calls: null pointers and descriptors that are
not open."""

from probe import considered, real_or_cannot

USER_MODE_ONLY = 1
CALLS = {
    "bpf": (321, -1, 0, 0),
    "userfaultfd": (323, USER_MODE_ONLY),
    "keyctl": (250, 0, -3, 0),
    "add_key": (248, 0, 0, 0, 0, 0),
    "request_key": (249, 0, 0, 0, 0),
    "perf_event_open": (298, 0, 0, -1, -1, 0),
    "kexec_load": (246, 0, 1 << 40, 0, 0),
    "kexec_file_load": (320, -1, -1, 0, 0, 1 << 40),
    "init_module": (175, 0, 0, 0),
    "finit_module": (313, -1, 0, 0),
    "delete_module": (176, 0, 0),
    "swapon": (167, 0, 0),
    "acct": (163, -1),
}
for name, (number, *arguments) in CALLS.items():
    considered(name, number, *arguments)
real_or_cannot("this machine refuses all of them by itself")
