"""The stand-in for the host: listeners, a process that holds a secret, descriptors on offer.

Writes every contact to ROOT/reached as "PROBE detail", and where it listens to ROOT/host.json.
Whoever connects to ROOT/settle is kept until nothing is left to be written. Runs until it is killed.
"""

import array
import ctypes
import json
import os
import selectors
import signal
import socket

from probe import facts

ROOT, RUNTIME, OUTSIDE, NONCE = (facts[name] for name in ("ROOT", "RUNTIME", "OUTSIDE", "NONCE"))
log = os.open(f"{ROOT}/reached", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
waiting = selectors.DefaultSelector()


def reached(probe, detail):
    os.write(log, f"{probe} {detail}\n".encode())


def listen(probe, family, kind, address, offer=None):
    """One listener; a stream socket greets with the canary and, if asked to, a descriptor."""
    listener = socket.socket(family, kind)
    listener.bind(address)
    if kind == socket.SOCK_STREAM:
        listener.listen(64)
    listener.setblocking(False)
    waiting.register(listener, selectors.EVENT_READ, (probe, kind, offer))
    return listener.getsockname()


def said(peer):
    """What a peer says at once, so that a contact can be told from another."""
    peer.settimeout(0.1)
    try:
        return peer.recv(64).decode("utf-8", "replace")
    except OSError:
        return ""


def greet(listener, probe, offer):
    peer, _ = listener.accept()
    reached((probe == "tcp" and said(peer)) or probe, "a connection arrived")
    ancillary = []
    if offer is not None:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [offer]))]
    try:
        peer.sendmsg([facts["CANARY"].encode()], ancillary)
    except OSError:
        pass  # it left without listening; it was here all the same
    peer.close()


UNIX, INET = socket.AF_UNIX, socket.AF_INET
STREAM, DGRAM = socket.SOCK_STREAM, socket.SOCK_DGRAM
os.makedirs(f"{RUNTIME}/gnupg", exist_ok=True)
os.makedirs(f"{RUNTIME}/tmux", exist_ok=True)
os.makedirs(f"{OUTSIDE}/view", exist_ok=True)
secret = os.open(f"{OUTSIDE}/secret", os.O_RDONLY)

for name in ("docker.sock", "bus", "gnupg/S.gpg-agent", "ssh-agent", "tmux/default"):
    listen(f"unix:{name}", UNIX, STREAM, f"{RUNTIME}/{name}")
listen("unix:view", UNIX, STREAM, f"{OUTSIDE}/view/s")
listen("unix:project", UNIX, STREAM, f"{facts['PROJECT']}/.case/s")
listen("unix:descriptor", UNIX, STREAM, f"{OUTSIDE}/offer", secret)
listen("unix:datagram", UNIX, DGRAM, f"{OUTSIDE}/datagram")
listen("abstract:stream", UNIX, STREAM, f"\0loop-attack-{NONCE}-stream")
listen("abstract:datagram", UNIX, DGRAM, f"\0loop-attack-{NONCE}-datagram")
listen("abstract:descriptor", UNIX, STREAM, f"\0loop-attack-{NONCE}-offer", secret)
tcp = listen("tcp", INET, STREAM, ("127.0.0.1", 0))
udp = listen("udp", INET, DGRAM, ("127.0.0.1", 0))

settle = socket.socket(UNIX, STREAM)
settle.bind(f"{ROOT}/settle")
settle.listen(1)
waiting.register(settle, selectors.EVENT_READ)

for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda got, _: reached("signal", f"{signal.Signals(got).name} arrived"))

# Let anyone who may trace at all trace this process, whatever the machine's Yama setting says.
PR_SET_PTRACER = 0x59616D61
ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(2**64 - 1), 0, 0, 0)
memory = ctypes.create_string_buffer(facts["CANARY"].encode())

stated = {
    "HOST_PID": str(os.getpid()),
    "HOST_ADDRESS": str(ctypes.addressof(memory)),
    "HOST_LENGTH": str(len(facts["CANARY"])),
    "HOST_DESCRIPTOR": str(secret),
    "TCP_PORT": str(tcp[1]),
    "UDP_PORT": str(udp[1]),
}
with open(f"{ROOT}/host.json.part", "w", encoding="utf-8") as file:
    json.dump(stated, file)
os.rename(f"{ROOT}/host.json.part", f"{ROOT}/host.json")

def serve(ready):
    for key, _ in ready:
        probe, kind, offer = key.data
        if kind == STREAM:
            greet(key.fileobj, probe, offer)
        else:
            name = key.fileobj.recv(65536).decode("utf-8", "replace")
            reached(name or probe, f"a datagram arrived at {probe}")


while True:
    ready = waiting.select()
    contacts = [event for event in ready if event[0].fileobj is not settle]
    serve(contacts)
    if not contacts and ready:
        settle.accept()[0].close()
