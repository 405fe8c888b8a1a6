"""Pushes by hand, to a branch for each way."""

import base64
import gzip
import os
import subprocess

from net import HOST, connect, get, tls
from probe import attempt, facts

PAIR = base64.b64encode(b"x-access-token:" + os.environ.get("API_KEY", "").encode()).decode()
WHO = f"Authorization: Basic {PAIR}"
PLACE = "/git/site.git/git-receive-pack"
TYPE = "Content-Type: application/x-git-receive-pack-request"


def git(*words, **more):
    return subprocess.run(["git", *words], check=True, capture_output=True, **more).stdout


def packet(text):
    return b"%04x" % (len(text) + 4) + text


git("commit", "-q", "--allow-empty", "-m", "By hand")
NEW = git("rev-parse", "HEAD").strip()
PACK = git("pack-objects", "--stdout", "-q", "--revs", input=NEW + b"\n^" + facts["BASE"].encode() + b"\n")


def commands(branch):
    move = b"%s %s refs/heads/%s" % (facts["BASE"].encode(), NEW, branch)
    return packet(move + b"\0 report-status") + b"0000"


def post(path, content, *lines):
    get(tls(connect(HOST, 443), HOST), HOST, path, WHO, *lines, method="POST", content=content)


def push(branch, path=PLACE):
    post(path, commands(branch) + PACK, TYPE)


attempt("plain", lambda: push(b"plain"))
attempt("encoded", lambda: push(b"encoded", PLACE.replace("receive", "%72eceive")))
attempt("slashes", lambda: push(b"slashes", PLACE.replace("/git-r", "//git-r")))
squeezed = gzip.compress(commands(b"compressed") + PACK)
attempt("compressed", lambda: post(PLACE, squeezed, TYPE, "Content-Encoding: gzip"))
