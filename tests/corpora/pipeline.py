"""Files through a producer and a consumer, and values to compare them by."""

import concurrent.futures
import decimal
import io
import itertools
import json
import os
import subprocess
import sys
import tempfile

import cbor2

BIN = os.environ["SLUICE_BIN"]
CORPORA = os.environ["SLUICE_CORPORA"]
DIR = os.environ["SLUICE_TEST_DIR"]
RING = os.environ["SLUICE_TEST_RING"]
DEADLINE = 60                       # seconds; only reached on failure

sys.set_int_max_str_digits(0)
sys.setrecursionlimit(10000)
numbers = itertools.count()


class Run:
    """How both programs ended, what came out, what they said."""

    def __init__(self, source, data, sink, *options):
        ring = f"{RING}.{next(numbers)}"
        path = os.path.join(DIR, ring)
        with open(path, "wb") as file:
            file.write(data)
        said = tempfile.TemporaryFile()         # it may say much, while nobody listens
        consumer = subprocess.Popen(
            [f"{BIN}/sluice-consumer", "--format", sink, ring],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        producer = subprocess.Popen(
            [f"{BIN}/sluice-producer", "--format", source, *options, ring, path],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
        try:
            self.out, consumer_said = consumer.communicate(timeout=DEADLINE)
            producer.wait(timeout=DEADLINE)
        finally:
            for process in producer, consumer:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        self.exits = producer.returncode, consumer.returncode
        said.seek(0)
        self.said = (said.read() + consumer_said).decode(errors="replace")
        said.close()
        os.unlink(path)
        if os.path.exists(f"/dev/shm/sluice.{ring}"):
            os.unlink(f"/dev/shm/sluice.{ring}")
            self.said += "the ring's name was still there"
            self.exits = "unclean", "unclean"

    def complete(self):
        return self.exits == (0, 0)

    def refused(self):
        """Bad data, said in one line; the consumer knows."""
        return (self.exits == (4, 1) and
                self.said.count("sluice-producer: fatal: cannot parse ") == 1)


class Number(tuple):
    """An exact number: its value, and the sign of a zero."""

    def __new__(cls, text):
        value = decimal.Decimal(text)
        return super().__new__(cls, (value, value.is_signed()))


def parse_json(text, pairs=tuple):
    """Every number exact, every duplicate key kept, in order."""
    return next(parse_jsons(text, pairs, only=True))


def parse_jsons(text, pairs=tuple, only=False):
    """A sequence of JSON texts.  ValueError where there is no more to be had."""
    decoder = json.JSONDecoder(
        object_pairs_hook=lambda members: ("object", pairs(members)),
        parse_float=Number, parse_int=Number, parse_constant=no_constant)
    blanks = " \t\r\n\x1e"
    at = 0
    while True:
        while at < len(text) and text[at] in blanks:
            at += 1
        if at == len(text):
            return
        value, at = decoder.raw_decode(text, at)
        if only and text[at:].strip(" \t\r\n") != "":
            raise ValueError("more than one text")
        yield value


def no_constant(name):
    raise ValueError(f"{name} is no JSON")


def parse_cbors(data):
    """A CBOR sequence, as the independent decoder reads it."""
    with io.BytesIO(data) as stream:
        decoder = cbor2.CBORDecoder(stream)
        while stream.tell() < len(data):
            yield decoder.decode()


def from_cbor(value):
    """As parse_json would have it, with dictionaries for objects."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, decimal.Decimal)):
        return Number(value)
    if isinstance(value, float):
        return Number(repr(value))
    if isinstance(value, list):
        return [from_cbor(item) for item in value]
    if isinstance(value, dict):
        return ("object", {key: from_cbor(item) for key, item in value.items()})
    raise TypeError(f"no JSON value: {value!r}")


def read(*parts):
    with open(os.path.join(CORPORA, *parts), "rb") as file:
        return file.read()


def names(*parts):
    return sorted(os.listdir(os.path.join(CORPORA, *parts)))


def conclude(function, items):
    """function(item) returns None, or what is wrong.  Four at a time."""
    bad = count = 0
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for item, wrong in zip(items, pool.map(function, items)):
            count += 1
            if wrong:
                bad += 1
                print(f"{item}: {wrong}")
    print(f"{count - bad} of {count} are as they must be")
    if bad or not count:
        sys.exit(1)
