# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The little that is needed of an ELF file: its build-id and the bytes at a virtual address."""
import bisect
import struct

REP = frozenset((0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf))


class Elf:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: not a 64-bit little-endian ELF file")
        phoff, = struct.unpack_from("<Q", self.data, 32)
        size, number = struct.unpack_from("<HH", self.data, 54)
        headers = [struct.unpack_from("<IIQQQQQQ", self.data, phoff + i * size)
                   for i in range(number)]
        self.loads = sorted((h[3], h[5], h[2]) for h in headers if h[0] == 1)
        self.build_id = ""
        for h in headers:
            if h[0] == 4:
                self.build_id = self.build_id or self.find_build_id(h[2], h[2] + h[5])

    def find_build_id(self, at, end):
        while at + 12 <= end:
            name, size, kind = struct.unpack_from("<III", self.data, at)
            body = at + 12 + (name + 3 & ~3)
            if kind == 3 and self.data[at + 12:at + 16] == b"GNU\0":
                return self.data[body:body + size].hex()
            at = body + (size + 3 & ~3)
        return ""

    def bytes_at(self, address, size):
        i = bisect.bisect_right(self.loads, (address, 1 << 64, 0)) - 1
        if i < 0:
            return b""
        start, length, offset = self.loads[i]
        at = address - start
        return self.data[offset + at:offset + min(at + size, length)]

    def rep_size(self, address):
        """The length of a repeated string instruction at the address; 0 for any other."""
        code = self.bytes_at(address, 5)
        i = 0
        while i < len(code) and code[i] in (0x66, 0x67, 0xf2, 0xf3):
            i += 1
        if not any(b in (0xf2, 0xf3) for b in code[:i]):
            return 0
        if i < len(code) and 0x40 <= code[i] <= 0x4f:
            i += 1
        return i + 1 if i < len(code) and code[i] in REP else 0

    def direct_target(self, address):
        """Where a direct near call or jump at the address goes; None for anything else."""
        code = self.bytes_at(address, 10)
        i = 1 if code[:1] in (b"\xf2", b"\x3e", b"\x67") else 0
        if code[i:i + 1] == b"\x67":
            i += 1
        if code[i:i + 1] in (b"\xe8", b"\xe9"):
            i += 1
        elif code[i:i + 1] == b"\x0f" and code[i + 1:i + 2] and code[i + 1] >> 4 == 8:
            i += 2
        else:
            return None
        return (address + i + 4 + struct.unpack_from("<i", code, i)[0]) & (1 << 64) - 1

    def has(self, address):
        i = bisect.bisect_right(self.loads, (address, 1 << 64, 0)) - 1
        return i >= 0 and address < self.loads[i][0] + self.loads[i][1]

    def is_call(self, address):
        code = self.bytes_at(address, 6)
        i = 0
        while i < len(code) and code[i] in (0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x3e):
            i += 1
        if i < len(code) and 0x40 <= code[i] <= 0x4f:
            i += 1
        if i >= len(code):
            return False
        return code[i] == 0xe8 or (code[i] == 0xff and i + 1 < len(code)
                                   and code[i + 1] >> 3 & 7 == 2)
