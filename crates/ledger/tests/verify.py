"""A second verifier of ledgers and receipts, written from docs/receipt.md with nothing but the
standard library. `verify.py DIRECTORY` prints what it makes of each case of cases.json."""
import base64, datetime, hashlib, json, pathlib, re, sys
from decimal import Decimal
from urllib.parse import unquote_to_bytes

class Fault(Exception):
    def __init__(self, code, record=0):
        self.code, self.record = code, record

# Canonical JSON (RFC 8785): read anything, write it again, compare.

def number(text):
    value = float(text)
    if value in (float("inf"), float("-inf")): raise Fault("not-canonical")
    if value == 0: return "0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    digits = "".join(map(str, digits)); short = digits.rstrip("0")
    point, k = len(digits) + exponent, len(short)
    if k <= point <= 21: out = short + "0" * (point - k)
    elif 0 < point <= 21: out = short[:point] + "." + short[point:]
    elif -6 < point <= 0: out = "0." + "0" * -point + short
    else: out = short[0] + ("." + short[1:] if k > 1 else "") + "e%+d" % (point - 1)
    return "-" * sign + out

def pairs(members):
    if len({name for name, _ in members}) < len(members): raise Fault("duplicate-key")
    return dict(members)

class Number(str): pass

def dump(value, depth=65):
    if isinstance(value, Number): return number(value)
    if isinstance(value, (dict, list)) and depth == 0: raise Fault("not-canonical")
    if isinstance(value, list): return "[" + ",".join(dump(one, depth - 1) for one in value) + "]"
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(dump(n) + ":" + dump(value[n], depth - 1) for n in names) + "}"
    return json.dumps(value, ensure_ascii=False)

def canonical(data, depth=64):
    def constant(_): raise Fault("not-canonical")
    try:
        value = json.loads(data.decode(), object_pairs_hook=pairs, parse_constant=constant,
                           parse_int=Number, parse_float=Number)
        if dump(value, depth).encode() == data: return value
    except (ValueError, RecursionError): pass
    raise Fault("not-canonical")

class Maybe:
    """Optional, like a set, of what no set can hold."""
    def __init__(self, of): self.of = of

def fits(value, spec):
    """Does a value have the shape of spec? A set is optional, a list repeats its one element."""
    if isinstance(spec, set): return value is None or fits(value, *spec)
    if isinstance(spec, Maybe): return value is None or fits(value, spec.of)
    if isinstance(spec, str): return type(value) is str and re.fullmatch(spec, value) is not None
    if isinstance(spec, list): return type(value) is list and all(fits(v, spec[0]) for v in value)
    if isinstance(spec, tuple): return type(value) is dict and all(fits(v, spec[0]) for v in value.values())
    if isinstance(spec, dict):
        return type(value) is dict and set(value) <= set(spec) and all(
            fits(value[name], one) if name in value else isinstance(one, (set, Maybe)) for name, one in spec.items())
    if isinstance(spec, range): return type(value) is Number and value.lstrip("-").isdigit() and int(value) in spec
    return spec is object or type(value) is spec

ANY, COUNT, EXIT = r"(?s:.*)", range(1 << 64), range(-1 << 31, 1 << 31)
DIGEST = "sha256:[0-9a-f]{64}"
TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z"
RUN = "[0-9]{6}-[0-9abcdefghjkmnpqrstvwxyz]{6}"
RECORD = {"body": object, "hash": DIGEST, "kind": r"[a-z][a-z0-9.-]{0,63}", "prev": DIGEST,
          "seq": range(1 << 53), "time": TIME}

# The ledger.

def record(data, at):
    try:
        found = canonical(data, 65)
        if set(found) == set(RECORD) and fits(found, {**RECORD, "body": object}):
            datetime.date.fromisoformat(found["time"][:10])
            return found
    except ValueError: pass
    except Fault as fault: raise Fault(fault.code, at)
    raise Fault("not-a-record", at)

def hash_of(found):
    rest = {name: value for name, value in found.items() if name != "hash"}
    return "sha256:" + hashlib.sha256(b"loop-ledger-v1\n" + dump(rest).encode()).hexdigest()

def misplaced(lines, found, at, last):
    def readable(line):
        try: return record(line, 0)
        except Fault: return None
    every = [readable(line) for line in lines]
    place = lambda digest: next((i for i, one in enumerate(every) if one and one["hash"] == digest), None)
    if place(found["hash"]) < at: return Fault("duplicated", at)
    if found["kind"] == "genesis": return Fault("foreign-run", at)
    parent, seq = place(found["prev"]), int(found["seq"])
    if any(one and one["prev"] == last and one["hash"] != found["hash"] for one in every):
        return Fault("inserted" if parent is None else "moved", at)
    if seq > at: return Fault("missing", at)
    if seq == at: return Fault("unlinked", at)
    return Fault("inserted", seq if parent is not None and parent + 1 == seq else at)

def ledger_run(data):
    """The run that the first record names."""
    found = record(data.split(b"\n")[0], 0)
    if found["kind"] == "genesis" and hash_of(found) == found["hash"]: return found["body"]["run"]

def ledger(data, run=None, heads=()):
    """Every record, and the records whose time runs backwards; or a Fault."""
    known = sorted((int(head["count"]), head["hash"]) for head in heads)
    if not data: raise Fault("empty")
    *lines, rest = data.split(b"\n")
    found, notes, last = [], [], "sha256:" + "0" * 64
    for at, line in enumerate(lines):
        if at == 0 and not line.startswith(b'{"body":'): raise Fault("not-a-ledger")
        one = record(line, at)
        if hash_of(one) != one["hash"]: raise Fault("edited", at)
        if (int(one["seq"]), one["prev"]) != (at, last): raise misplaced(lines + [rest], one, at, last)
        if at == 0:
            body = one["body"] if type(one["body"]) is dict else {}
            if one["kind"] != "genesis" or not fits(body.get("schema"), COUNT): raise Fault("not-a-ledger")
            if body["schema"] != "1": raise Fault("unknown-schema")
            if not fits(body, {"run": RUN, "schema": COUNT}): raise Fault("not-a-ledger")
            if run not in (None, body["run"]): raise Fault("foreign-run")
        elif one["kind"] == "genesis": raise Fault("foreign-run", at)
        if found and one["time"] < found[-1]["time"]: notes.append({"code": "clock-set-back", "record": at})
        found.append(one); last = one["hash"]
        if any(count == at + 1 and digest != last for count, digest in known): raise Fault("replaced", at)
    if rest: raise Fault("torn" if found or rest.startswith(b'{"body":') else "not-a-ledger", len(found))
    if known and known[-1][0] > len(found): raise Fault("truncated", len(found))
    if known and known[0][0] == 0: raise Fault("replaced")
    return found, notes

# Ed25519 (RFC 8032), strict: one form of a signature, no points of small order.

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

def add(a, b):
    (x1, y1, z1, t1), (x2, y2, z2, t2) = a, b
    A, B, C, E = (y1 - x1) * (y2 - x2), (y1 + x1) * (y2 + x2), 2 * t1 * t2 * D, 2 * z1 * z2
    e, f, g, h = B - A, E - C, E + C, B + A
    return e * f % P, g * h % P, f * g % P, e * h % P

def times(n, point):
    out = (0, 1, 1, 0)
    for bit in bin(n)[2:]: out = add(out, out) if bit == "0" else add(add(out, out), point)
    return out

def decompress(data):
    y = int.from_bytes(data, "little"); sign, y = y >> 255, (y & (1 << 255) - 1) % P
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square: x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square: raise ValueError("not on the curve")
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P

def compress(point):
    x, y, z, _ = point; z = pow(z, -1, P)
    return ((y * z % P) | (x * z % P & 1) << 255).to_bytes(32, "little")

def signed(key, message, signature):
    if len(signature) != 64 or (s := int.from_bytes(signature[32:], "little")) >= L: return False
    point, (bx, by) = decompress(key), (None, 4 * pow(5, -1, P) % P)
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    x, y, z, t = times(h, point)
    r = add(times(s, decompress(by.to_bytes(32, "little"))), (P - x, y, z, P - t))
    small = any(compress(times(8, one)) == compress((0, 1, 1, 0)) for one in (point, r))
    return not small and compress(r) == signature[:32]

# The receipt.

RAN = {"passed": bool, "exit": {EXIT}, "output": DIGEST}
CHECK = {"name": ANY, "command": ANY, "preExisting": bool, "base": Maybe(RAN), **RAN}
VERIFICATION = {
    "contract": DIGEST, "changes": DIGEST, "round": range(1 << 32), "held": [ANY], "leftOut": [ANY], "usedIgnored": [ANY],
    "criteria": [{"id": ANY, "checks": [ANY], "met": bool}], "flags": [{"path": ANY, "line": {COUNT}, "why": ANY}],
    "review": Maybe({"provider": ANY, "name": ANY, "veto": bool, "reason": ANY})}
LINK = {"run": RUN, "receipt": DIGEST}
BUDGET = {"wallMs": COUNT, **{name: {COUNT} for name in ("cpuMs", "memory", "output", "steps", "tokens")}}
PREDICATE = {
    "run": RUN, "subject": ANY, "project": ANY, "started": TIME, "ended": TIME, "profile": ANY,
    "authority": DIGEST, "enforcement": object, "outcome": "verified|unverified|failed|stopped",
    "leases": [{"name": ANY, "destination": ANY, "expires": TIME}],
    "approvals": [{"record": COUNT, "action": DIGEST, "scope": ANY, "by": ANY}],
    "egress": [{"host": ANY, "port": range(1 << 16), "connections": COUNT, "sent": COUNT, "received": COUNT}],
    "base": {"commit": {ANY}, "dirty": {bool}}, "budget": BUDGET, "checks": [CHECK], "denials": (COUNT,), "learned": {(COUNT,)}, "models": [{"provider": ANY, "name": ANY}], "omissions": [ANY], "exit": {EXIT},
    "ledger": {"count": COUNT, "hash": DIGEST}, "verification": Maybe(VERIFICATION),
    "follows": Maybe({"relation": "continues|verifies", **LINK})}
STATEMENT = {"_type": ANY, "predicateType": ANY, "predicate": PREDICATE,
             "subject": [{"name": ANY, "digest": {"sha256": "[0-9a-f]{64}"}}]}
ENVELOPE = {"payload": ANY, "payloadType": ANY, "signatures": [{"keyid": ANY, "sig": ANY}]}
TYPES = {"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://loop.dev/receipt/v1"}

def decoded(text):
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text: raise ValueError("another form of base64")
    return data

def parse(data):
    if len(data) > 16 << 20: raise Fault("too-large")
    envelope = canonical(data[:-1] if data.endswith(b"\n") else data)
    if not fits(envelope, ENVELOPE): raise Fault("not-an-envelope")
    if envelope["payloadType"] != "application/vnd.in-toto+json": raise Fault("payload-type")
    try: payload = decoded(envelope["payload"])
    except ValueError: raise Fault("payload-encoding")
    found = canonical(payload)
    if type(found) is not dict or not all(fits(found.get(name), ANY) for name in TYPES): raise Fault("not-a-statement")
    if any(found[name] != known for name, known in TYPES.items()): raise Fault("unknown-schema")
    if not fits(found, STATEMENT): raise Fault("not-a-statement")
    return envelope, payload, found["subject"], found["predicate"]

# Whose signature counts, for what.

def milliseconds(time):
    at = datetime.datetime.strptime(time, "%Y-%m-%dT%H:%M:%S.%fZ")
    return (at - datetime.datetime(1970, 1, 1)) // datetime.timedelta(milliseconds=1)

def names_match(pattern, names):
    if not pattern: return not names
    if pattern[0] == "**": return any(names_match(pattern[1:], names[at:]) for at in range(len(names) + 1))
    word = "".join(".*" if c == "*" else re.escape(c) for c in pattern[0])
    return bool(names) and re.fullmatch("(?s:%s)" % word, names[0]) is not None and names_match(pattern[1:], names[1:])

def objects_at(key, time):
    if "revoked" in key: return "key-revoked"
    if time > key.get("until", "9999"): return "key-expired"

def objects(key, predicate):
    project, mine = predicate["project"].split("/"), lambda pattern: names_match(pattern.split("/"), project)
    if why := objects_at(key, predicate["ended"]): return why
    if "projects" in key and not any(map(mine, key["projects"])): return "key-for-other-project"
    if predicate["outcome"] not in key.get("outcomes", [predicate["outcome"]]): return "key-not-for-outcome"

def id_of(key): return "ed25519:" + hashlib.sha256(key["key"]).hexdigest()[:16]

HEAD = {"count": COUNT, "hash": DIGEST, "keyid": ANY, "run": RUN, "sig": ANY, "time": TIME}

def vouched(data, run, keys):
    """The heads of the ledger of run that somebody who is trusted vouches for."""
    found, why = [], "not-vouched-for"
    for line in data.split(b"\n")[:-1]:
        try: head = canonical(line)
        except Fault: raise Fault("head-malformed")
        if not fits(head, HEAD): raise Fault("head-malformed")
        found.append(head)
    counted = []
    for head in found:
        if head["run"] != run: continue
        named = [key for key in keys if id_of(key) == head["keyid"]]
        if named:
            message = b"loop-head-v1\n" + dump({name: value for name, value in head.items() if name != "sig"}).encode()
            try: right = signed(named[0]["key"], message, decoded(head["sig"]))
            except ValueError: right = False
            if not right: raise Fault("head-signature")
            objection = objects_at(named[0], head["time"])
            if objection: why = why if why != "not-vouched-for" else objection
        if not keys or named and not objection: counted.append(head)
    if not counted: raise Fault(why)
    return counted

def check_signature(envelope, payload, predicate, keys):
    kind = envelope["payloadType"]
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    ids = {id_of(key): key for key in reversed(keys)}
    vouched, why = False, None
    for one in envelope["signatures"]:
        if one["keyid"] in ids:
            try: right = signed(ids[one["keyid"]]["key"], message, decoded(one["sig"]))
            except ValueError: right = False
            if not right: raise Fault("bad-signature")
            objection = objects(ids[one["keyid"]], predicate)
            vouched, why = vouched or not objection, why or objection
    if not vouched: raise Fault(why or ("unknown-key" if envelope["signatures"] else "unsigned"))

def gather(records):
    facts = {"authorities": [], "verdicts": [], "denials": {}, "learned": {}, "through": {}, "open": {}, "stray": False, "approvals": []}
    used = set()
    for one in records:
        kind, body = one["kind"], one["body"]
        need = {"run.start": {"authority": DIGEST, "learning": {bool}, "continues": Maybe(dict), "verifies": Maybe(dict)}, "learned": {"action": dict, "action_digest": DIGEST}, "changes": {"digest": DIGEST, "result": DIGEST}, "run.end": {"outcome": PREDICATE["outcome"]},
                "denied": {"action": dict},
                "approval.answered": {"authority": DIGEST, "action_digest": DIGEST, "answer": ANY, "by": dict}}.get(kind, {})
        if kind.endswith(".intent"): need = {"authority": DIGEST, "outcome": ANY, "action_digest": {DIGEST}, "learned": {COUNT}}
        elif kind.endswith(".result"): need = {"intent": COUNT}
        if need and (type(body) is not dict or not all(fits(body.get(name), spec) for name, spec in need.items())): raise Fault("unreadable")
        if kind == "run.start":
            for relation in ("verifies", "continues"):
                other = body.get(relation)
                if other is not None and not all(fits(other.get(name), spec) for name, spec in LINK.items()): raise Fault("unreadable")
                if other is not None: facts["follows"] = {"relation": relation, **{name: other[name] for name in LINK}}
        if "authority" in need: facts["authorities"].append(body["authority"])
        if kind.endswith(".intent"):
            action, approval = body.get("action_digest"), body.get("approval")
            if action is not None and not fits(action, DIGEST) or approval is not None and not fits(approval, COUNT): raise Fault("unreadable")
            named = [it for it in facts["approvals"] if it["record"] == approval and it["action"] == action]
            allowed = body["outcome"] == "ask" and named and (named[0]["scope"] == "run" or approval not in used)
            if allowed and named[0]["scope"] == "once": used.add(approval)
            through = facts["through"].pop(body.get("learned"), None)
            if through is None or through != (kind[:-7], action): facts["verdicts"].append("allow" if allowed else body["outcome"])
            facts["open"][one["seq"]] = kind[:-7]
        elif kind == "approval.answered":
            if not all(fits(body["by"].get(name), ANY) for name in ("user", "via")): raise Fault("unreadable")
            if body["answer"] in ("once", "run"):
                facts["approvals"].append({"record": one["seq"], "action": body["action_digest"], "scope": body["answer"],
                                           "by": "%s (%s)" % (body["by"]["user"], body["by"]["via"])})
        elif kind.endswith(".result"): facts["stray"] |= facts["open"].pop(body["intent"], None) != kind[:-7]
        elif kind in ("denied", "learned"):
            if not fits(word := body["action"].get("action"), ANY): raise Fault("unreadable")
            counts = facts["denials" if kind == "denied" else kind]
            counts[word] = counts.get(word, 0) + 1
            if kind == "learned": facts["through"][one["seq"]] = (word, body["action_digest"])
        elif kind in ("run.start", "enforcement", "verification", "changes", "run.end"): facts[kind] = body
    return facts

def need(facts, kind, value, member=None):
    if kind not in facts: raise Fault("record-missing")
    if dump(facts[kind][member] if member else facts[kind]) != dump(value): raise Fault("fact-differs")

def result_of(changes):
    touched = []
    for entry in json.loads(changes, object_pairs_hook=pairs)["entries"]:
        node = entry["after"] or {"type": "none"}
        mode = {"link": "120000", "dir": "040000"}.get(node["type"], "000000")
        if node["type"] == "file": mode = "100755" if int(node["mode"], 8) & 0o100 else "100644"
        touched.append((unquote_to_bytes(entry["path"]), mode.encode(), node.get("digest", node.get("target", "")).encode()))
        if type(entry["kind"]) is dict: touched.append((unquote_to_bytes(entry["kind"]["rename"]["from"]), b"000000", b""))
    parts = [part for one in sorted(touched) for part in one]
    return hashlib.sha256(b"loop-result-v1\n" + b"".join(len(part).to_bytes(8, "big") + part for part in parts)).hexdigest()

def check_subjects(subjects, changes, facts):
    stated = {}
    for one in subjects:
        if one["name"] not in ("changes", "result") or one["name"] in stated: raise Fault("subject-extra")
        stated[one["name"]] = one["digest"]["sha256"]
    if len(stated) < 2: raise Fault("subject-missing")
    if changes is not None:
        if hashlib.sha256(changes).hexdigest() != stated["changes"]: raise Fault("changes-differ")
        try: result = result_of(changes)
        except (ValueError, TypeError, KeyError, AttributeError): raise Fault("changes-unreadable")
        if result != stated["result"]: raise Fault("result-differs")
    if facts:
        found = facts()
        need(found, "changes", "sha256:" + stated["changes"], "digest")
        need(found, "changes", "sha256:" + stated["result"], "result")

def check_policy(predicate, facts):
    if "run.start" not in facts: raise Fault("record-missing")
    if any(one != predicate["authority"] for one in facts["authorities"]): raise Fault("fact-differs")
    learning = predicate.get("learned") is not None
    if (facts["run.start"].get("learning") or False) != learning: raise Fault("fact-differs")
    if facts["learned"] and not learning: raise Fault("learned-differ")
    if any(one != "allow" for one in facts["verdicts"]): raise Fault("not-allowed")
    need(facts, "enforcement", predicate["enforcement"])

def check_complete(predicate, facts):
    if "run.end" not in facts: raise Fault("record-missing")
    if facts["stray"]: raise Fault("stray-result")
    if facts["open"]: raise Fault("outcome-unknown")
    if facts["denials"] != {kind: int(count) for kind, count in predicate["denials"].items()}: raise Fault("denials-differ")
    if predicate.get("learned") is not None and facts["learned"] != {kind: int(count) for kind, count in predicate["learned"].items()}: raise Fault("learned-differ")
    if dump(facts["approvals"]) != dump(predicate["approvals"]): raise Fault("approvals-differ")
    if "run.start" in facts and facts.get("follows") != predicate.get("follows"): raise Fault("fact-differs")

def check_recorded(predicate, facts):
    stated = predicate.get("verification")
    if stated is not None: need(facts, "verification", {"checks": predicate["checks"], "verification": stated})
    elif "verification" in facts: raise Fault("fact-differs")

def check_evidence(predicate, subjects):
    checks, stated = predicate["checks"], predicate.get("verification")
    if not checks or stated is None: raise Fault("no-evidence")
    before = lambda one: one["preExisting"] and not (one.get("base") or {"passed": True})["passed"]
    if not all(one["passed"] or before(one) for one in checks): raise Fault("check-failed")
    if any(one["name"] == "changes" and "sha256:" + one["digest"]["sha256"] != stated["changes"] for one in subjects): raise Fault("others-checked")
    if not stated["criteria"]: raise Fault("no-evidence")
    names = {one["name"] for one in checks}
    if not all(one["met"] and one["checks"] and set(one["checks"]) <= names for one in stated["criteria"]): raise Fault("criterion-unmet")
    if stated["flags"]: raise Fault("flagged")
    if stated.get("review") is not None and stated["review"]["veto"]: raise Fault("vetoed")

def check_outcome(predicate, subjects, facts):
    if facts:
        if "run.end" in (found := facts()): need(found, "run.end", predicate["outcome"], "outcome")
        check_recorded(predicate, found)
    if predicate["outcome"] != "verified": raise Fault("outcome")
    check_evidence(predicate, subjects)

def heads_of(said, files, run, keys):
    """The heads that count, of each file that is given, and a word for each file."""
    heads = []
    for aspect, data in files.items():
        if data is None: continue
        try: heads += vouched(data, run, keys); said[aspect] = "holds" if keys else "not-checked"
        except Fault as fault: said[aspect] = fault.code
    return heads

def receipt(data, keys, book, changes, allow, now, files):
    said = dict.fromkeys(("form", "signature", "chain", "subjects", "policy", "completeness", "outcome"), "not-checked")
    def judge(aspect, check, *given):
        try: said[aspect] = "holds"; return check(*given)
        except Fault as fault: said[aspect] = fault.code
    if found := judge("form", parse, data):
        envelope, payload, subjects, predicate = found
        if now and milliseconds(predicate["ended"]) - milliseconds(now) > 300000: said["form"] = "from-the-future"
        if keys: judge("signature", check_signature, envelope, payload, predicate, keys)
        heads = heads_of(said, files, predicate["run"], keys)
        chain = book is not None and judge("chain", ledger, book, predicate["run"], [predicate["ledger"], *heads])
        facts = (lambda: gather(chain[0][:int(predicate["ledger"]["count"])])) if chain else None
        judge("subjects", check_subjects, subjects, changes, facts)
        if changes is None and said["subjects"] == "holds": said["subjects"] = "not-checked"
        if facts: judge("policy", lambda: check_policy(predicate, facts()))
        if predicate.get("learned") is not None and said["policy"] in ("holds", "not-checked"): said["policy"] = "learning"
        if predicate["omissions"]: said["completeness"] = "omission"
        elif facts: judge("completeness", lambda: check_complete(predicate, facts()))
        judge("outcome", check_outcome, predicate, subjects, facts)
    excused = {"signature": "unsigned", "heads": "unsigned", "witness": "unsigned", "chain": "no-ledger", "policy": "no-ledger", "completeness": "no-ledger", "subjects": "no-changes"}
    fine = lambda aspect, word: word == "holds" or word == "not-checked" and excused.get(aspect) in allow or (
        word == "learning" and "learning" in allow) or (
        word == "outcome" and predicate["outcome"] == "unverified" and "unverified" in allow)
    return {"accepted": all(fine(*one) for one in said.items()), **said}

def main(directory):
    read = lambda name: name and (directory / name).read_bytes()
    key = lambda name: base64.b64decode(read(name).split(b" ")[1])
    trusted = lambda case: [{"key": key(name)} for name in case.get("keys", [])] + [
        {**one, "key": key(one["key"])} for one in case.get("trust", [])]
    said = {}
    for case in json.loads(read("cases.json")):
        book = read(case["ledger"])
        files = {aspect: read(case.get(aspect)) for aspect in ("heads", "witness")}
        if "receipt" in case:
            said[case["name"]] = receipt(read(case["receipt"]), trusted(case), book, read(case["changes"]), case["allow"], case.get("now"), files)
            continue
        words = {}
        try:
            given = [case["head"]] if "head" in case else []
            if any(one is not None for one in files.values()):
                try: run = ledger_run(book)
                except Fault: run = None
                if run: given += heads_of(words, files, run, trusted(case))
            records, notes = ledger(book, case.get("run"), given)
            after = len(records) - max((int(head["count"]) for head in given), default=0)
            length = {"known": {"after": after}} if given else "unknown"
            words.update({"ledger": "intact", "length": length, "count": len(records), **({"notes": notes} if notes else {})})
        except Fault as fault: words.update({"ledger": "broken", "code": fault.code, "record": fault.record})
        said[case["name"]] = words
    print(json.dumps(said))

main(pathlib.Path(sys.argv[1]))
