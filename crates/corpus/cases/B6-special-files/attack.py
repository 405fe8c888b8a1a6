"""Makes one of each."""

import os
import shutil
import socket
import stat

from probe import attempt


def setuid():
    shutil.copy("/bin/true", "setuid")
    os.chmod("setuid", 0o6755)


attempt("setuid", setuid)
attempt("pipe", lambda: os.mkfifo("pipe"))
attempt("socket", lambda: socket.socket(socket.AF_UNIX).bind("socket"))
attempt("device", lambda: os.mknod("device", stat.S_IFCHR | 0o666, os.makedev(1, 3)))
attempt("block-device", lambda: os.mknod("block", stat.S_IFBLK | 0o666, os.makedev(7, 0)))
