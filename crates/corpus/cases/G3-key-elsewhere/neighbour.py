"""Where it is for, it arrives; elsewhere, what stands for it is text like any other."""

import os

from net import HOST, OTHER, connect, get, tls

key = os.environ["API_KEY"]
said = get(tls(connect(HOST, 443), HOST), HOST, "/v1/models", f"x-api-key: {key}")
assert b"the key arrived" in said, said
assert b"hello" in get(tls(connect(OTHER, 443), OTHER), OTHER, "/")
