"""Takes the descriptor and reads the secret through it."""

import os
import socket

from probe import attempt, canary, facts


def take(address):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(5)
    peer.connect(address)
    _, descriptors, _, _ = socket.recv_fds(peer, 1024, 4)
    return canary(os.pread(descriptors[0], 4096, 0)) if descriptors else None


attempt("by-path", lambda: take(f"{facts['OUTSIDE']}/offer"))
attempt("by-abstract-name", lambda: take(f"\0loop-attack-{facts['NONCE']}-offer"))
