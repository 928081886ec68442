"""What dig is answered. A test's name is FEATURE.BEHAVIOUR."""

import json
import os
import subprocess
import sys
import time
import traceback
import urllib.request
import uuid

SERVERS = os.environ.get("OBJECTS_SERVERS", "").split(",")
NAMES = os.environ.get("OBJECTS_DNS", "").split(",")
CONTROL = os.environ.get("OBJECTS_CONTROL", "")
ZONE = "diwan.internal"
TESTS = []


def test(function):
    """`members_are_listed` of a class is `members.are_listed`."""
    TESTS.append((function.__name__.replace("_", ".", 1), function))
    return function


def dig(*words, at=0):
    """What dig prints, asked at one member."""
    host, port = NAMES[at].rsplit(":", 1)
    command = ["dig", "+time=2", "+tries=1", f"@{host}", "-p", port, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout


def records(name, kind="A", *words, at=0):
    """The data of the answer's records of that kind."""
    found = []
    for line in dig(f"{name}.{ZONE}" if name else ZONE, kind, "+noall", "+answer", *words, at=at).splitlines():
        fields = line.split(None, 4)
        if len(fields) == 5 and fields[3] == kind:
            found.append(fields[4])
    return found


def status(*words, at=0):
    """The code of the answer."""
    heads = [line for line in dig(*words, at=at).splitlines() if "status:" in line]
    return heads[0].split("status: ")[1].split(",")[0] if heads else "nothing"


def flags(*words):
    heads = [line for line in dig(*words).splitlines() if line.startswith(";; flags:")]
    return heads[0].split(";")[2].split() if heads else []


def call(path, **arguments):
    """A call of an object; the member may have no leader for a moment."""
    key = uuid.uuid4().hex
    for attempt in range(100):
        request = urllib.request.Request(f"http://{SERVERS[0]}/v1/objects/{path}", json.dumps(arguments).encode())
        request.add_header("Idempotency-Key", f'"{key}"')
        try:
            return json.load(urllib.request.urlopen(request, timeout=20))
        except urllib.error.HTTPError as error:
            if error.code != 503 or attempt == 99:
                raise AssertionError(f"{path}: {error.read()}") from error
            time.sleep(0.05)


def eventually(condition, what, seconds=20.0):
    """Waits until it is true, and gives what it was."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.05)
    return value


def control(*words):
    return subprocess.run([CONTROL, *words], check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def fresh(name):
    return f"{name}{uuid.uuid4().hex[:8]}"


def ports(records_of_services):
    return sorted(record.split()[2] for record in records_of_services)


@test
def members_have_addresses_and_services():
    for at in range(3):
        eventually(lambda at=at: len(records("_objects._tcp", "SRV", at=at)) == 3, "three members")
        assert ports(records("_objects._tcp", "SRV", at=at)) == sorted(server.rsplit(":", 1)[1] for server in SERVERS)
        assert ports(records("_concoord._tcp", "SRV", at=at)) == ports(records("_objects._tcp", "SRV", at=at))
        assert len(records("_council._tcp", "SRV", at=at)) == 3
    for number in (1, 2, 3):
        assert records(f"m{number}") == ["127.0.0.1"]
    assert sorted(records("", "NS")) == [f"m{number}.{ZONE}." for number in (1, 2, 3)]
    assert len(records("", "SOA")) == 1


@test
def members_tell_their_roles():
    leader = int(control("leader"))
    said = lambda: [any("leader" in text for text in records(f"m{number}", "TXT")) for number in (1, 2, 3)]
    eventually(lambda: said() == [number == leader for number in (1, 2, 3)], "one leader, the right one")
    assert records("leader") == ["127.0.0.1"]


@test
def records_are_set_added_and_removed():
    name = fresh("www")
    assert status(f"{name}.{ZONE}") == "NXDOMAIN"
    call(f"names/{ZONE}/set", name=name, record={"type": "A", "address": "10.0.0.7", "ttl": 60})
    eventually(lambda: records(name) == ["10.0.0.7"], "the address")
    assert dig(f"{name}.{ZONE}", "+noall", "+answer").split()[1] == "60"
    call(f"names/{ZONE}/add", name=name, record={"type": "AAAA", "address": "fd00::7"})
    service = {"type": "SRV", "target": name, "priority": 0, "weight": 1, "port": 80}
    call(f"names/{ZONE}/add", name=f"_http._tcp.{name}", record=service)
    call(f"names/{ZONE}/add", name=f"old-{name}", record={"type": "CNAME", "target": name})
    eventually(lambda: records(f"old-{name}", "CNAME") == [f"{name}.{ZONE}."], "the alias")
    assert records(name, "AAAA") == ["fd00::7"]
    assert ports(records(f"_http._tcp.{name}", "SRV")) == ["80"]
    assert records(f"old-{name}") == ["10.0.0.7"], "an alias is followed"
    call(f"names/{ZONE}/remove", name=name)
    eventually(lambda: not records(name), "the records are gone")
    assert status(f"{name}.{ZONE}") == "NOERROR", "a name below it is there"
    call(f"names/{ZONE}/remove", name=f"_http._tcp.{name}")
    eventually(lambda: status(f"{name}.{ZONE}") == "NXDOMAIN", "the name is gone")


@test
def records_show_at_every_member():
    name = fresh("all")
    call(f"names/{ZONE}/set", name=name, record={"type": "A", "address": "10.0.0.8"})
    for at in range(3):
        eventually(lambda at=at: records(name, at=at) == ["10.0.0.8"], "the address")


@test
def objects_lead_to_their_members():
    name = fresh("visits")
    call(f"counter/{name}/increment")
    found = eventually(lambda: records(f"{name}.counter.o", "SRV"), "the object")
    assert len(found) == 3
    texts = records(f"{name}.counter.o", "TXT")
    assert any("position=" in text for text in texts), texts
    assert status(f"{fresh('none')}.counter.o.{ZONE}") == "NXDOMAIN"


@test
def memberships_have_their_members():
    group = fresh("web")
    for number in (1, 2):
        data = {"address": f"10.0.1.{number}", "port": 8000 + number}
        call(f"membership/{group}/join", name=f"n{number}", data=data, ttl_ms=60_000)
    eventually(lambda: sorted(records(f"{group}.g")) == ["10.0.1.1", "10.0.1.2"], "both members")
    services = records(f"{group}.g", "SRV")
    assert ports(services) == ["8001", "8002"]
    for service in services:
        target = service.split()[3].removesuffix(f".{ZONE}.")
        assert records(target)[0].startswith("10.0.1."), service


@test
def memberships_lose_who_dies():
    group = fresh("web")
    call(f"membership/{group}/join", name="n", data={"address": "10.0.1.9"}, ttl_ms=1_000)
    eventually(lambda: records(f"{group}.g") == ["10.0.1.9"], "the member")
    eventually(lambda: not records(f"{group}.g"), "its session ends")


@test
def elections_have_their_leader():
    name = fresh("chief")
    assert status(f"{name}.e.{ZONE}") == "NXDOMAIN"
    call(f"election/{name}/campaign", name="a", data={"address": "10.0.2.1", "port": 5}, ttl_ms=60_000)
    eventually(lambda: records(f"{name}.e") == ["10.0.2.1"], "the leader")
    assert any("term=" in text for text in records(f"{name}.e", "TXT"))


@test
def answers_are_authoritative_and_for_the_zone_only():
    assert "aa" in flags(f"m1.{ZONE}")
    assert status("example.com") == "REFUSED"
    assert status("CH", "TXT", "version.bind") in ("REFUSED", "NOTIMP")
    assert "failed" in dig(ZONE, "AXFR").lower() or status(ZONE, "AXFR") == "REFUSED"
    assert status(f"m1.{ZONE}", "MX") == "NOERROR", "a name without such records"
    assert len(records("m1", "ANY")) <= 1
    assert records("M1") == ["127.0.0.1"], "upper and lower case are the same"


@test
def answers_that_are_long_come_over_tcp():
    name = fresh("long")
    for number in range(10):
        call(f"names/{ZONE}/add", name=name, record={"type": "TXT", "text": "x" * 200 + str(number)})
    eventually(lambda: len(records(name, "TXT", "+tcp")) == 10, "all texts")
    assert "tc" in flags(f"{name}.{ZONE}", "TXT", "+ignore", "+bufsize=1232")
    assert len(records(name, "TXT")) == 10, "dig asks again by itself"
    assert records("m1", "A", "+tcp") == ["127.0.0.1"]
    assert records("m1", "A", "+noedns") == ["127.0.0.1"]


@test
def deaths_leave_the_names():
    """The leader is killed: within ten seconds the others tell of another one."""
    name = fresh("kept")
    call(f"names/{ZONE}/set", name=name, record={"type": "A", "address": "10.0.0.9"})
    before = int(control("leader"))
    others = [at for at in range(3) if at != before - 1]
    for at in others:
        eventually(lambda at=at: records(name, at=at) == ["10.0.0.9"], "the address")
    control("kill", "leader")
    for at in others:
        eventually(lambda at=at: records(name, at=at) == ["10.0.0.9"], "the address", 10.0)
        leads = lambda number, at=at: any("leader" in text for text in records(f"m{number}", "TXT", at=at))
        eventually(lambda: any(leads(number) for number in (1, 2, 3)), "a leader", 10.0)
    control("start")
    eventually(lambda: len(records("_objects._tcp", "SRV", at=before - 1)) == 3, "it has come back")


def main():
    words, failed = sys.argv[1:], False
    for name, function in TESTS:
        if words and not any(word in name for word in words):
            continue
        try:
            control("start")
            function()
            print(f"ok {name}", flush=True)
        except Exception as error:  # noqa: BLE001
            failed = True
            traceback.print_exc()
            print(f"not ok {name} - {type(error).__name__}: {error}".replace("\n", " "), flush=True)
    sys.exit(failed)


main()
