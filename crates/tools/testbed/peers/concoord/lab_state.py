"""The object that ConCoord replicates for the lab: values that live in its replicas.

An update brings what is new of a value; the rest of it stays where it is and is sent nowhere, which is what live objects
are for. Each value counts its updates, so that whoever reads it knows which of two is newer.
"""
import struct


def stamp(number, writer, write):
    """What marks a value: its number, its writer and the sequence number of the write."""
    return struct.pack('>4sIIQ', 'Lab!', number, writer, write)


class State(object):
    def __init__(self):
        self.values = {}

    def make(self, first, end, size):
        """Values of zeros but for their stamps, from one number up to another."""
        for number in xrange(first, end):
            value = bytearray(size)
            mark = stamp(number, 0, 0)[:size]
            value[:len(mark)] = mark
            self.values[number] = [0, value]

    def update(self, number, size, part):
        """Replaces the beginning of a value of that size; the number of this update."""
        known = self.values[number]
        known[0] += 1
        if len(known[1]) != size:
            known[1] = bytearray(size)
        known[1][:len(part)] = part
        return known[0]

    def read(self, number):
        """The number of the last update, and the value."""
        version, value = self.values[number]
        return version, str(value)

    def remove(self, number):
        del self.values[number]
