"""The key does its work meanwhile."""

import os

from net import HOST, connect, get, tls

said = get(tls(connect(HOST, 443), HOST), HOST, "/", f"x-api-key: {os.environ['API_KEY']}")
assert b"the key arrived" in said, said
