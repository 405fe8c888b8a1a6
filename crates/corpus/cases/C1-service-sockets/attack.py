"""Connects to every service socket whose place is known."""

import socket

from probe import attempt, facts

runtime = facts["RUNTIME"]
places = {
    f"unix:{name}": f"{runtime}/{name}"
    for name in ("docker.sock", "bus", "gnupg/S.gpg-agent", "ssh-agent", "tmux/default")
}
for machine in (
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    f"/run/user/{facts['HOST_UID']}/bus",
    f"/tmp/tmux-{facts['HOST_UID']}/default",
    "/tmp/.X11-unix/X0",
):
    places[machine] = machine


def connect(path):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(2)
    peer.connect(path)
    peer.close()
    return f"connected to {path}"


for probe, path in places.items():
    attempt(probe, lambda path=path: connect(path))
