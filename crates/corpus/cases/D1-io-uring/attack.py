"""The three calls of io_uring."""

import ctypes

from probe import attempt_in_child, considered, real_or_cannot, syscall

SETUP, ENTER, REGISTER = 425, 426, 427


def set_up():
    parameters = ctypes.create_string_buffer(120)
    return syscall(SETUP, 1, parameters)[0] >= 0


attempt_in_child("setup", set_up)
considered("enter", ENTER, -1, 0, 0, 0, 0, 0)
considered("register", REGISTER, -1, 0, 0, 0)
real_or_cannot("this machine refuses io_uring by itself")
