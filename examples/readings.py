#!/usr/bin/python3
"""The records of readings-write, from Python:

    sluice-consumer --format cbor RING | python3 readings.py

prints what readings-read prints.  The consumer writes a CBOR sequence; its exit
code says whether that was complete.
"""

import sys

import cbor2


def records(file):
    decoder = cbor2.CBORDecoder(file)
    while True:
        try:
            yield decoder.decode()
        except cbor2.CBORDecodeEOF:
            return


for reading in records(sys.stdin.buffer):
    print(reading["sensor"], reading["at"], *(f"{value:.17g}" for value in reading["values"]))
