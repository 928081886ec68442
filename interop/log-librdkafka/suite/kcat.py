"""kcat, as Debian packages it, on its own and older librdkafka."""

import os
import shutil
import subprocess
from pathlib import Path

from suite.harness import PATIENCE, Skip, new_topic, test


# Where `run --prepare` has unpacked it, if it is not installed.
UNPACKED = Path(__file__).parent.parent / ".kcat" / "usr"


def program():
    """The program, and the environment that it needs."""
    if installed := shutil.which("kcat"):
        return installed, None
    libraries = ":".join(str(folder) for folder in UNPACKED.glob("lib/*") if folder.is_dir())
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries}
    unpacked = str(UNPACKED / "bin" / "kcat")
    try:
        subprocess.run([unpacked, "-V"], env=environment, check=True, capture_output=True, timeout=PATIENCE)
    except (OSError, subprocess.CalledProcessError):
        raise Skip("kcat is missing") from None
    return unpacked, environment


def kcat(broker, *words, lines=""):
    path, environment = program()
    command = [path, "-b", broker.address, *words]
    ran = subprocess.run(
        command, input=lines, env=environment, check=True, capture_output=True, text=True, timeout=2 * PATIENCE
    )
    return ran.stdout


@test
def lines_go_there_and_back(broker):
    topic = new_topic(broker, partitions=2)
    lines = [str(number) for number in range(1000)]
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        kcat(broker, "-P", "-t", topic, "-z", codec, lines="\n".join(lines) + "\n")
    assert sorted(kcat(broker, "-C", "-t", topic, "-o", "beginning", "-e", "-q").split()) == sorted(lines * 5)


@test
def format_shows_keys_and_headers(broker):
    topic = new_topic(broker)
    kcat(broker, "-P", "-t", topic, "-K:", "-H", "a=1", lines="key:value\n")
    assert kcat(broker, "-C", "-t", topic, "-e", "-q", "-f", "%k %s %h %o %p\\n") == "key value a=1 0 0\n"


@test
def metadata_and_offsets_are_queried(broker):
    topic = new_topic(broker)
    kcat(broker, "-P", "-t", topic, lines="x\ny\n")
    assert f'topic "{topic}" with 1 partitions' in kcat(broker, "-L", "-t", topic)
    assert "offset 2" in kcat(broker, "-Q", "-t", f"{topic}:0:-1")


@test
def group_reads_and_commits(broker):
    topic = new_topic(broker)
    kcat(broker, "-P", "-t", topic, lines="one\ntwo\n")
    group = f"group-{topic}"
    settings = ["-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=6000", "-G", group, "-c", "2", "-q", topic]
    assert kcat(broker, *settings) == "one\ntwo\n"
    kcat(broker, "-P", "-t", topic, lines="three\n")
    assert kcat(broker, *["1" if word == "2" else word for word in settings]) == "three\n"
