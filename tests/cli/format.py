# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Reads a database by doc/FORMAT.md alone, checks what that page promises, and prints what is in it:
a line for each sample, edge, stack, raw record, instruction sample, counter and fact, added up over the packs, sorted."""
import collections
import ctypes
import os
import re
import sys

ZSTD, XXHASH = ctypes.CDLL("libzstd.so.1"), ctypes.CDLL("libxxhash.so.0")
ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
ZSTD.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
XXHASH.XXH3_64bits.restype = ctypes.c_uint64
XXHASH.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
XXHASH.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
END = START = 2**64 - 1
HEAD, ROWS, INDEX, _, STACKS, RAWS, TOUCHES, EDGES = range(1, 9)
INSTSAMPLES = 11


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


XXHASH.XXH3_128bits.restype = Hash128


def checksum(data):
    return XXHASH.XXH3_64bits(data, len(data))


def unpack_zstd(data, size):
    out = ctypes.create_string_buffer(size + 1)
    assert ZSTD.ZSTD_decompress(out, size, data, len(data)) == size
    return out.raw[:size]


def unzigzag(code):
    return code >> 1 ^ -(code & 1)


def zigzag(distance):
    distance = distance + 2**63 & 2**64 - 1
    distance -= 2**63
    return (distance << 1 ^ distance >> 63) & 2**64 - 1


def ascends(keys):
    assert all(a < b for a, b in zip(keys, keys[1:])), "what should rise does not"


class Bytes:
    """What is read from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        assert self.at + size <= len(self.data), "cut off"
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def varint(self):
        value = shift = 0
        for _ in range(10):
            byte = self.number(1)
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                assert value < 2**64
                return value
        raise AssertionError("a varint of more than 10 bytes")

    def string(self):
        return self.take(self.varint())

    def list(self, entry):
        return [entry() for _ in range(self.varint())]

    def left(self):
        return len(self.data) - self.at


class Packed:
    """Numbers of a few bits, the lowest of a byte first; the largest says that there is more."""

    def __init__(self, data, bits, more):
        self.data, self.bits, self.more, self.at = data, bits, more, 0

    def take(self):
        each, escape = 8 // self.bits, (1 << self.bits) - 1
        value = self.data[self.at // each] >> self.at % each * self.bits & escape
        self.at += 1
        return value + (self.more.varint() if value == escape else 0) + 1

    def left(self):
        return len(self.data) - (self.at * self.bits + 7) // 8


Image = collections.namedtuple("Image", "key path")  # key: the bytes that images are ordered by
Event = collections.namedtuple("Event", "name period flags")


def take_image(c):
    kind, number, path = c.number(1), c.string(), c.string()
    if kind == 11 and not number:
        h = XXHASH.XXH3_128bits(path, len(path))
        number = h.high.to_bytes(8, "big") + h.low.to_bytes(8, "big")
    assert len(number) <= 20
    return Image(bytes([kind, len(number)]) + number.ljust(20, b"\0"), path)


def take_event(c):
    return Event(c.string(), c.varint(), c.varint())


def subject_text(subject):
    c, pairs = Bytes(subject), []
    while c.left():
        pairs.append((c.string(), c.string()))
    ascends([key for key, _ in pairs])
    return " ".join(f"{k.decode()}={v.decode()}" for k, v in pairs)


def image_text(image):
    return f"{image.key[0]}\t{image.key[2:2 + image.key[1]].hex()}\t{image.path.decode()}"


class Chunk:
    def __init__(self, data, at):
        header = data[at:at + 48]
        c = Bytes(header)
        assert c.take(8) == b"\x89CHUNK\r\n"
        self.type, size, self.rows, zero = (c.number(4) for _ in range(4))
        self.samples, payload_sum, header_sum = (c.number(8) for _ in range(3))
        assert zero == 0 and size <= 4 << 20 and header_sum == checksum(header[:40])
        payload = data[at + 48:at + 48 + size]
        assert len(payload) == size and payload_sum == checksum(payload)
        self.start, self.end = at, at + 48 + size
        self.entry = (self.type, size, self.rows, self.samples, payload_sum)
        c = Bytes(payload)
        sizes = [(c.varint(), c.varint()) for _ in range(c.number(1))]
        assert len(sizes) <= 16 and sum(size for size, _ in sizes) <= 16 << 20
        self.streams = [Bytes(c.take(stored) if stored == size else
                              unpack_zstd(c.take(stored), size)) for size, stored in sizes]
        assert c.left() == 0

    def packed(self, stream, bits, more):
        return Packed(self.streams[stream].data, bits, self.streams[more])

    def expect_end(self, *packed, but=()):
        """Nothing is left over in any stream; those of small numbers are said."""
        whole = {id(p.data) for p in packed}
        assert all(p.left() == 0 for p in packed)
        assert all(s.left() == 0 for i, s in enumerate(self.streams)
                   if id(s.data) not in whole and i not in but)


def read_catalog(chunk):
    assert chunk.rows == chunk.samples == 0
    c = chunk.streams[0]
    result = {"interval": (c.varint(), c.varint()), "rows": c.varint(), "samples": c.varint()}
    result["events"] = c.list(lambda: take_event(c))
    result["counters"] = c.list(lambda: (c.varint(), c.string(), c.varint()))
    result["facts"] = c.list(lambda: (c.string(), c.string()))
    result["labels"] = c.list(c.string)
    result["chunks"] = c.list(lambda: (c.varint(), (c.varint(), c.varint(), c.varint(), c.varint(),
                                                    c.number(8)), c.list(c.varint)))
    assert c.left() == 0
    return result


def read_rows(chunk):
    c = chunk.streams[0]
    images, events, subjects = (c.list(lambda: take_image(c)), c.list(lambda: take_event(c)),
                                c.list(c.string))
    ascends(subjects)
    c = chunk.streams[1]
    groups = c.list(lambda: (c.varint(), c.varint(), c.varint(), c.list(c.varint)))
    deltas, first, following = chunk.streams[2], chunk.streams[5], chunk.streams[6]
    sharers, counts = chunk.packed(3, 2, 4), chunk.packed(7, 4, 8)
    for image, event, left, ranks in groups:
        offset = 0
        while left:
            offset += deltas.varint()
            several = len(ranks) > 1
            rank, count = first.varint() if several else 0, sharers.take() if several else 1
            at = []
            for i in range(count):
                rank += following.varint() + 1 if i else 0
                at.append((subjects[ranks[rank]], counts.take()))
            left -= count
            for subject, passes in sorted(at):
                yield (images[image].key, events[event], offset, subject), images[image], passes
    chunk.expect_end(sharers, counts)


def read_to(code, base):
    """Where an edge goes that is not told by the one before, in the image of its from."""
    if code == 0:
        return END
    return base if code == zigzag(END - base) else base + unzigzag(code) & 2**64 - 1


def read_edges(chunk):
    c = chunk.streams[0]
    images, events = c.list(lambda: take_image(c)), c.list(lambda: take_event(c))
    c = chunk.streams[1]
    groups = c.list(lambda: (c.varint(), c.varint(), c.varint(), c.varint(), c.list(c.varint)))
    fanout, counts = chunk.packed(3, 2, 4), chunk.packed(7, 4, 8)
    for image, event, evidence, left, targets in groups:
        assert evidence in (1, 2)
        source = 0
        ascends([images[t].key for t in targets])
        while left:
            source += chunk.streams[2].varint()
            fan, place, to = fanout.take(), 0, None
            for _ in range(fan):
                step = chunk.streams[5].varint() if len(targets) > 1 else 0
                place += step
                code, own = chunk.streams[6].varint(), targets[place] == image
                if to is not None and step == 0:
                    to = to + code if code else END
                elif own:
                    to = read_to(code, 0 if source == START else source)
                else:
                    to = code
                passes = counts.take()
                windows = passes - (chunk.streams[9].varint() if passes > 1 else 0)
                target = images[targets[place]]
                yield ((images[image].key, events[event], evidence, source, target.key, to), images[image],
                       target, passes, windows)
            left -= fan
    chunk.expect_end(fanout, counts)


def read_touches(chunk):
    c = chunk.streams[0]
    images = c.list(lambda: take_image(c))
    c, counts = chunk.streams[1], chunk.packed(5, 4, 6)
    for image, left in c.list(lambda: (c.varint(), c.varint())):
        load = 0
        while left:
            load += chunk.streams[2].varint()
            fan, place = chunk.streams[3].varint() + 1, 0
            assert fan <= 256
            for _ in range(fan):
                place += chunk.streams[4].varint()
                yield (images[image].key, load, place), images[image], counts.take()
            left -= fan
    chunk.expect_end(counts)


def read_stacks(chunk):
    c = chunk.streams[0]
    images, events, subjects = (c.list(lambda: take_image(c)), c.list(lambda: take_event(c)),
                                c.list(c.string))
    ascends([i.key for i in images])
    c = chunk.streams[1]
    groups, frames, last, called = c.list(lambda: (c.varint(), c.varint(), c.varint())), [], [], {}
    for image in images:
        offset = 0
        for _ in range(chunk.streams[2].varint()):
            offset += chunk.streams[2].varint()
            frames.append((image.key, offset, image))
    counts = chunk.packed(6, 4, 7)
    for event, subject, stacks in groups:
        last = []
        for _ in range(stacks):
            shared = chunk.streams[3].varint()
            numbers = last[:shared]
            for i in range(chunk.streams[4].varint() + 1):
                caller = numbers[-1] if numbers else None
                if i == 0 and shared < len(last):
                    number = last[shared] + 1 + chunk.streams[8].varint()
                elif caller in called:
                    number = called[caller] = (called[caller] +
                                               unzigzag(chunk.streams[10].varint()))
                else:
                    number = called[caller] = ((caller or 0) +
                                               unzigzag(chunk.streams[9].varint()))
                numbers.append(number)
            last, stack = numbers, [frames[n] for n in numbers]
            yield ((events[event], subjects[subject], [(key, o) for key, o, _ in stack]),
                   [(image, offset) for _, offset, image in stack], counts.take())
    assert chunk.streams[5].left() == 0
    chunk.expect_end(counts)


def read_raws(chunk):
    c = chunk.streams[0]
    images, events, subjects = (c.list(lambda: take_image(c)), c.list(lambda: take_event(c)),
                                c.list(c.string))
    c = chunk.streams[1]
    groups = c.list(lambda: tuple(c.varint() for _ in range(6)))
    registers = [len(s.data) // 8 for s in chunk.streams[8:]]
    seen, counts = [0] * 8, chunk.packed(6, 4, 7)
    for image, event, kind, caps, mask, records in groups:
        offset = 0
        for _ in range(records):
            offset += chunk.streams[2].varint()
            subject, code = subjects[chunk.streams[3].varint()], chunk.streams[4].varint()
            target, place = (b"", 0), None
            if code:
                place = images[image if code == 1 else code - 2]
                to = chunk.streams[5].varint()
                target = (place.key, offset + unzigzag(to) & 2**64 - 1 if code == 1 else to)
            values = []
            for k in range(bin(mask).count("1")):
                data, count = chunk.streams[8 + k].data, registers[k]
                values.append(int.from_bytes(data[seen[k]::count][:8], "little"))
                seen[k] += 1
            form = (kind, caps, mask)
            yield ((images[image].key, events[event], form, offset, subject, target, values),
                   images[image], place, counts.take())
    assert all(seen[k] == n for k, n in enumerate(registers))
    chunk.expect_end(counts, but=range(8, 16))


def read_insts(chunk):
    c = chunk.streams[0]
    images, events, subjects = (c.list(lambda: take_image(c)), c.list(lambda: take_event(c)),
                                c.list(c.string))
    c = chunk.streams[1]
    groups = c.list(lambda: tuple(c.varint() for _ in range(7)))
    columns = [0] * 40
    for *_, fields, samples in groups:
        for k in range(bin(fields).count("1")):
            columns[k] += samples
    start, used = [], [0] * 8
    for k, count in enumerate(columns):
        start.append(used[min(k, 7)])
        used[min(k, 7)] += 4 * count
    assert used == [len(s.data) for s in chunk.streams[8:]]
    seen, counts = [0] * 40, chunk.packed(6, 4, 7)
    for image, event, source, known, other_known, fields, samples in groups:
        offset = 0
        for _ in range(samples):
            offset += chunk.streams[2].varint()
            subject, code = subjects[chunk.streams[3].varint()], chunk.streams[4].varint()
            other, place = (b"", 0), None
            if code:
                place = images[image if code == 1 else code - 2]
                to = chunk.streams[5].varint()
                other = (place.key, offset + unzigzag(to) & 2**64 - 1 if code == 1 else to)
            values = []
            for k in range(bin(fields).count("1")):
                data = chunk.streams[8 + min(k, 7)].data[start[k] + seen[k]:start[k] + 4 * columns[k]]
                values.append(int.from_bytes(data[::columns[k]][:4], "little"))
                seen[k] += 1
            form = (source, known, other_known, fields)
            yield ((images[image].key, events[event], form, offset, subject, other, values),
                   images[image], place, counts.take())
    assert seen == columns
    chunk.expect_end(counts, but=range(8, 16))


def read_symbols(c):
    """The names of a blob of symbols."""
    assert c.take(4) == b"CSY2"
    c.string()
    functions = c.list(lambda: (c.varint(), c.varint(), c.varint()))
    assert all(size for _, size, _ in functions)
    names = [c.take(size).decode() for _, _, size in functions]
    c.take((len(functions) + 7) // 8)
    assert c.left() == 0
    return names


def read_code(c):
    """What is kept of a file's code: sizes and the names that it calls others by."""
    assert c.take(4) == b"CCD2"
    _, bits, whole = c.varint(), c.varint(), c.varint()
    assert bits in (32, 64) and whole in (0, 1)
    pieces = c.list(lambda: (c.varint(), c.string()))
    ranges = c.list(lambda: (c.varint(), c.varint()))
    frames = c.list(lambda: (c.varint(), c.varint(), c.varint()))
    c.list(lambda: (c.varint(), c.varint()))
    names = c.list(lambda: (c.varint(), c.string()))
    assert c.left() == 0
    return [f"{sum(len(data) for _, data in pieces)} bytes",
            f"{len(ranges)} ranges", f"{len(frames)} frames"] + [n.decode() for _, n in names]


def read_lines(c):
    """Each position that a table of lines tells, with the size of its run."""
    assert c.take(4) == b"CLT1"

    def read_range():
        gap, size, count = c.varint(), c.varint(), c.varint()
        starts = [0] + [c.varint() for _ in range(count - 1)]
        assert all(starts[1:]) and sum(starts) < size
        return gap, count
    runs = sum(count for _, count in c.list(read_range))
    assert c.take(4) == b"CLN3"
    count, _, strings = c.varint(), c.varint(), [""] + [s.decode() for s in c.list(c.string)]
    assert count == runs
    c.list(lambda: (strings[c.varint()], c.take(16)))
    told, frames = [], []
    for _ in range(count):
        number, shared = c.varint(), c.varint()
        fresh = [(strings[c.varint()], strings[c.varint()], strings[c.varint()], c.varint(),
                  c.varint(), c.varint()) for _ in range(number - shared)]
        frames = fresh + frames[len(frames) - shared:]
        told.append(frames)
    assert c.left() == 0
    return [f"{function} {file}:{line}" for frames in told for function, file, _, line, *_ in frames]


BLOBS = {"symbols": read_symbols, "code": read_code, "lines": read_lines,
         "told": read_lines}


def take_seal(path):
    """Size, samples and the index's sum of each file that it names."""
    with open(path, "rb") as file:
        *lines, last = file.read().decode().splitlines(keepends=True)
    assert last == f"sum {checksum(''.join(lines).encode()):016x}\n"
    assert lines[0] == "culprit seal, version 1\n"
    assert re.fullmatch(r"clock \d+ \d+ (-|[0-9a-f-]{36})\n", lines[1])
    files = [re.fullmatch(r"file (\S+) (\d+) (\d+) ([0-9a-f]{16})\n", line).groups()
             for line in lines[2:]]
    assert files == sorted(files)
    return {name: (int(size), int(samples), int(sum, 16)) for name, size, samples, sum in files}


class Database:
    def __init__(self):
        self.sums = collections.Counter()

    def add(self, count, *words):
        self.sums["\t".join(str(w) for w in words)] += count

    def take_rows(self, chunk):
        for key, image, count in read_rows(chunk):
            event = key[1].name.decode(), key[1].period
            self.add(count, "sample", image_text(image), *event, key[2], subject_text(key[3]))
            yield key, count

    def take_edges(self, chunk):
        for key, image, target, passes, windows in read_edges(chunk):
            words = (image_text(image), key[1].name.decode(), *key[2:4], image_text(target), key[5])
            self.add(passes, "edge", *words)
            self.add(windows, "windows", *words)
            yield key, passes

    def take_stacks(self, chunk):
        for key, frames, count in read_stacks(chunk):
            self.add(count, "stack", key[0].name.decode(), key[0].period, subject_text(key[1]),
                     *(f"{image_text(image)}+{offset}" for image, offset in frames))
            yield key, count

    def take_raws(self, chunk):
        for key, image, target, count in read_raws(chunk):
            self.add(count, "raw", image_text(image), key[1].name.decode(), *key[2], key[3],
                     subject_text(key[4]), image_text(target) if target else "-", key[5][1],
                     *key[6])
            yield key, count

    def take_insts(self, chunk):
        for key, image, other, count in read_insts(chunk):
            self.add(count, "instruction", image_text(image), key[1].name.decode(), *key[2], key[3],
                     subject_text(key[4]), image_text(other) if other else "-", key[5][1],
                     *key[6])
            yield key, count

    def take_touches(self, chunk):
        for key, image, count in read_touches(chunk):
            self.add(count, "touch", image_text(image), *key[1:])
            yield key, count

    def take_catalog(self, catalog):
        for event, name, value in catalog["counters"]:
            self.add(value, "counter", catalog["events"][event - 1].name.decode() if event else "-",
                     name.decode())
        for name, value in catalog["facts"]:
            self.sums["\t".join(["fact", name.decode(), value.decode()])] = 1

    def take_pack(self, data):
        assert data[:8] == b"\x89CULPAK\n" and data[8:16] == b"\1" + bytes(7)
        assert int.from_bytes(data[16:24], "little") == checksum(data[:16])
        trailer = Bytes(data[-24:])
        index_at = trailer.number(8)
        assert trailer.number(8) == checksum(data[-24:-16]) and trailer.take(8) == b"CULPEND\n"
        chunks, at = [], 24
        while at < len(data) - 24:
            chunks.append(Chunk(data, at))
            at = chunks[-1].end
        index, head = read_catalog(chunks[-1]), read_catalog(chunks[0])
        assert (chunks[0].type, chunks[-1].type, chunks[-1].start) == (HEAD, INDEX, index_at)
        assert head["rows"] == 0 and not head["labels"] and not head["chunks"]
        assert all(head[k] == index[k] for k in ("interval", "samples", "events", "counters",
                                                 "facts"))
        end = 0
        for chunk, (gap, entry, labels) in zip(chunks[:-1], index["chunks"], strict=True):
            assert chunk.start == end + gap and chunk.entry == entry
            assert all(n < len(index["labels"]) for n in labels)
            end = chunk.end
        self.take_catalog(index)
        assert index["samples"] == self.take_chunks(chunks, ROWS, self.take_rows)
        assert index["rows"] == sum(c.rows for c in chunks if c.type == ROWS)
        for kind, take in ((EDGES, self.take_edges), (STACKS, self.take_stacks),
                           (RAWS, self.take_raws), (TOUCHES, self.take_touches),
                           (INSTSAMPLES, self.take_insts)):
            self.take_chunks(chunks, kind, take)
        return index["samples"], chunks[-1].entry[4]

    def take_chunks(self, chunks, kind, take):
        total, last = 0, []
        for chunk in (c for c in chunks if c.type == kind):
            items = list(take(chunk))
            ascends(last + [key for key, _ in items])
            assert len(items) == chunk.rows and sum(n for _, n in items) == chunk.samples
            total += chunk.samples
            last = [items[-1][0]] if kind == ROWS else []
        return total

    def take_epoch(self, path):
        names = os.listdir(path)
        bases = [tuple(int(n) for n in m.groups()) for m in
                 (re.fullmatch(r"base-(\d{8,10})-(\d{8,10})", n) for n in names) if m]
        upto = max(bases, default=(0, 0))[1]
        files = [f"base-{g:08}-{u:08}" for g, u in [max(bases)]] if bases else []
        numbers = sorted(int(n[4:]) for n in names if re.fullmatch(r"seg-\d{8,10}", n))
        numbers = [n for n in numbers if n > upto]
        assert numbers == list(range(upto + 1, upto + 1 + len(numbers)))
        files += [f"seg-{n:08}" for n in numbers]
        seal = take_seal(os.path.join(path, "SEALED")) if "SEALED" in names else None
        assert seal is None or sorted(seal) == sorted(files)
        for name in files:
            with open(os.path.join(path, name), "rb") as file:
                data = file.read()
            told = self.take_pack(data)
            assert seal is None or seal[name] == (len(data), *told), name

    def take_machine(self, path):
        with open(os.path.join(path, "meta"), "rb") as file:
            line, last = file.read().splitlines(keepends=True)
        assert line == b"culprit database, version 1\n" and last == b"sum %016x\n" % checksum(line)
        with open(os.path.join(path, "lock"), "rb") as file:
            assert re.fullmatch(rb"[0-9a-f-]{36} [0-9]+ *\n", file.read())
        for name in sorted(os.listdir(path)):
            if re.fullmatch(r"\d{8}T\d{6}Z(-\d+)?", name):
                self.take_epoch(os.path.join(path, name))
        images = os.path.join(path, "images")
        for name in os.listdir(images) if os.path.isdir(images) else ():
            with open(os.path.join(images, name), "rb") as file:
                self.take_blob(name, file.read())

    def take_blob(self, name, data):
        assert data[:8] == b"\x89CULBLB\n", name
        data_head = data[:24]
        size, whole, own = (int.from_bytes(data[i:i + 8], "little") for i in (8, 16, 24))
        data = unpack_zstd(data[32:], size)
        assert own == checksum(data_head) and checksum(data) == whole
        self.add(1, "blob", name)
        for word in BLOBS[name.rsplit(".", 1)[1]](Bytes(data)):
            self.add(1, "told", name, word)


def main():
    db = Database()
    for machine in sorted(os.listdir(sys.argv[1])):
        db.take_machine(os.path.join(sys.argv[1], machine))
    for line, count in sorted(db.sums.items()):
        print(f"{line}\t{count}")


main()
