# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Makes the inputs of the programs: the same on every machine with the same header files."""
import glob
import math
import os
import shutil
import struct
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

QUERY = """
create table item(id integer primary key, name text, kind int, price real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 40000)
insert into item select i, 'item ' || (i * 7919 % 40009), i * 31 % 97, i * 17 % 1009 / 3.0 from n;
create table sale(id integer primary key, item int, day int, pieces int);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
insert into sale select i, i * 7907 % 40000 + 1, i * 13 % 365, i * 29 % 11 from n;
create index sale_item on sale(item);
create index item_name on item(name);
select kind, count(*), sum(price * pieces) from item join sale on sale.item = item.id
  group by kind order by 3 desc;
select day, avg(price) from sale join item on item.id = sale.item where name like '%7_' group by day;
select count(*) from item where name between 'item 2' and 'item 3';
select a.kind, max(length(a.name)) from item a join item b on b.name = a.name where b.kind < 9 group by 1;
update item set price = price * 1.1 where kind % 3 = 0;
delete from sale where pieces = 0;
"""

WORDS_PY = '''
import re, sys
counts, classes = {}, {}
class Word:
    __slots__ = ("text", "seen", "last")
    def __init__(self, text): self.text, self.seen, self.last = text, 0, -1
    def see(self, line):
        if self.last != line: self.seen += 1
        self.last = line
split = re.compile(r"[^A-Za-z_]+").split
with open(sys.argv[1]) as text:
    for number, line in enumerate(text):
        for word in split(line):
            if not word: continue
            entry = counts.get(word)
            if entry is None: entry = counts[word] = Word(word)
            entry.see(number)
for entry in sorted(counts.values(), key=lambda e: (-e.seen, e.text)):
    h = 5381
    for c in entry.text: h = (h * 33 ^ ord(c)) & 0xffffffff
    classes.setdefault(h % 101, []).append(entry.text.upper())
print(sum(len(v) * k for k, v in classes.items()), " ".join(sorted(classes[7]))[:80])
'''

WORDS_PL = '''
my (%count, %by); open(my $f, "<", $ARGV[0]) or die;
while (my $line = <$f>) {
    chomp $line; $line =~ s/\\s+/ /g;
    for my $word (split /[^A-Za-z_]+/, $line) { next unless length $word; $count{$word}++; }
    if ($line =~ /^#\\s*define\\s+(\\w+)\\s+(0x[0-9a-f]+|\\d+)/i) { push @{$by{length $1}}, lc $1; }
}
for my $word (sort { $count{$b} <=> $count{$a} or $a cmp $b } keys %count) {
    my $h = 0; $h = ($h * 31 + ord $_) % 65521 for split //, $word; $by{$h % 50} = [$word];
}
print join(",", map { "$_=" . scalar @{$by{$_}} } sort keys %by), "\\n";
'''

WORDS_AWK = '''
{ gsub(/[^A-Za-z_ ]/, " "); for (i = 1; i <= NF; i++) { count[$i]++; size[length($i)] += 1 } }
/define/ { defines++; name[$2] = NR }
END { for (w in count) { h = 0; for (i = 1; i <= length(w); i++) h = (h * 31 + index("etaoin", substr(w, i, 1))) % 65521
      sum += h * count[w] } ; print sum, defines, length(name) }
'''

EDIT_SED = '''
s/[ \\t]*$//
s/\\<struct \\([a-z_]*\\)/class \\1/g
/^#define/{
s/[ \\t][ \\t]*/ /g
y/abcdef/ABCDEF/
}
/^\\/\\*/,/\\*\\//s/[aeiou]/_/g
$!N
s/\\n\\n*/\\n/
P
D
'''


def write(path, data):
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def make_text(size):
    """The kernel's header files one after the other: text with structure, wherever a compiler is."""
    parts, have = [], 0
    for path in sorted(glob.glob("/usr/include/linux/**/*.h", recursive=True)):
        with open(path, "rb") as file:
            parts.append(file.read())
        have += len(parts[-1])
        if have >= size:
            break
    data = b"".join(parts)
    while len(data) < size:
        data += data
    return data[:size]


def make_sound(seconds):
    """Stereo of three changing tones and a little noise, 44100 Hz, 16 bits."""
    rate, noise, samples = 44100, 12345, bytearray()
    for i in range(int(rate * seconds)):
        noise = (noise * 1103515245 + 12345) & 0x7fffffff
        t = i / rate
        left = 9000 * math.sin(2 * math.pi * (220 + 40 * math.sin(t * 3)) * t) \
            + 4000 * math.sin(2 * math.pi * 1760 * t) + (noise >> 16) % 700
        right = 8000 * math.sin(2 * math.pi * 330 * t + math.sin(t * 5)) + (noise >> 12) % 900
        samples += struct.pack("<hh", int(left), int(right))
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(samples), b"WAVE", b"fmt ", 16, 1, 2,
                       rate, rate * 4, 4, 16, b"data", len(samples))
    return head + bytes(samples)


def make_history(path, text):
    """A repository of 60 commits, each an edit of a few of 24 files."""
    files = [text[i * 20000:(i + 1) * 20000].split(b"\n") for i in range(24)]
    stream, random = [], 1
    for commit in range(60):
        stream.append(b"commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 4\nedit\n"
                      % (1500000000 + commit * 1000))
        for number in range(24):
            random = (random * 1103515245 + 12345) & 0x7fffffff
            if commit and random >> 8 & 3:
                continue
            lines = files[number]
            for _ in range(12):
                random = (random * 1103515245 + 12345) & 0x7fffffff
                at = (random >> 7) % len(lines)
                if random >> 5 & 1:
                    lines[at:at + 2] = [b"line %d of %d" % (at, commit)]
                else:
                    lines.insert(at, lines[at // 2])
            body = b"\n".join(lines)
            stream.append(b"M 100644 inline dir%d/file%d\ndata %d\n%s\n"
                          % (number % 4, number, len(body), body))
    shutil.rmtree(path, ignore_errors=True)
    subprocess.run(["git", "init", "-q", "--bare", path], check=True)
    subprocess.run(["git", "-C", path, "fast-import", "--quiet"], input=b"".join(stream), check=True)


def make_source(path):
    """The kernels as one preprocessed file, each in names of its own."""
    lines = []
    for kernel in sorted(glob.glob(os.path.join(ROOT, "tests/accuracy/kernels/*.c"))):
        name = os.path.basename(kernel)[:-2]
        for common in ("main", "fill", "N", "a", "b", "c", "p", "q", "data", "build", "search", "walk",
                       "insert", "find", "node", "LOAD", "LIMIT", "AND", "program"):
            lines.append(f"#undef {common}\n#define {common} {name}_{common}"
                         if common not in ("N", "LIMIT") else f"#undef {common}")
        lines.append(f'#include "{kernel}"')
    for copy in ("tests/accuracy/linear.c",):
        lines.append(f'#undef main\n#define main linear_main\n#undef N\n#include "{ROOT}/{copy}"')
    subprocess.run(["gcc", "-E", "-P", "-O2", "-o", path, "-x", "c", "-"], check=True,
                   input="\n".join(lines).encode())


def make_inputs(work):
    """Fills the folder; what is there already stays."""
    os.makedirs(work, exist_ok=True)
    made = os.path.join(work, "made-2")
    if os.path.exists(made):
        return
    text = make_text(3 << 20)
    write(os.path.join(work, "text-3"), text)
    write(os.path.join(work, "text-1"), text[:1 << 20])
    for name, body in (("query.sql", QUERY), ("words.py", WORDS_PY), ("words.pl", WORDS_PL),
                       ("words.awk", WORDS_AWK), ("edit.sed", EDIT_SED)):
        write(os.path.join(work, name), body.lstrip("\n"))
    write(os.path.join(work, "sound.wav"), make_sound(6))
    make_history(os.path.join(work, "history.git"), text)
    make_source(os.path.join(work, "source.i"))
    write(made, "")
