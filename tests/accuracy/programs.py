# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What is measured: real programs of Debian packages on fixed inputs, and kernels of our own.

A truth counts one run. A recording runs the same command again and again for some seconds, so every
true relative frequency of the recording is that of the one run, start-up and all, and its absolute
counts are the truth's times the number of runs (which tests/accuracy/repeat.c tells).
"""
import glob
import os

CC1 = sorted(glob.glob("/usr/lib/gcc/x86_64-linux-gnu/*/cc1"))
PYTHON = [p for p in sorted(glob.glob("/usr/bin/python3.[0-9]*")) if p[-1].isdigit()]

KERNELS = ("sieve", "matrix", "join", "quicksort", "interpret", "bodies", "tree")

# Under valgrind a program sees another processor, so whoever asks which instructions there are is
# told the same in both runs: libc and libm here, others in their own variables below. That a native
# run takes the same path is checked in every recording: the share of its samples on instructions
# that the truth never executed is printed.
GLIBC_OFF = ("AVX512F,AVX512VL,AVX512BW,AVX512DQ,AVX512CD,AVX512ER,AVX2,AVX,FMA,FMA4,BMI1,BMI2,"
             "LZCNT,MOVBE,ERMS,FSRM,RTM,SSSE3,SSE4_1,SSE4_2,XSAVEC,XSAVE,"
             "AVX_Fast_Unaligned_Load,AVX2_Usable,Fast_Rep_String,Prefer_No_AVX512_Probing,"
             "Slow_BSF")
ENVIRONMENT = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join("-" + f for f in GLIBC_OFF.split(","))
                      + ":glibc.cpu.x86_non_temporal_threshold=0xc0000"
                      + ":glibc.cpu.x86_data_cache_size=0x8000"
                      + ":glibc.cpu.x86_shared_cache_size=0x100000",
    "LC_ALL": "C", "PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TZ": "UTC",
    "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0",
    # FXSR SSE..SSE4.2 PCLMUL AES AVX; AVX2 BMI: what valgrind shows, without the vendor's name.
    "OPENSSL_ia32cap": "0x1e98220b078bffff:0x0000000000000128",
    "OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "1",
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat",
}


class Program:
    """argv runs in the directory of the inputs with stdout in a file."""

    def __init__(self, name, kind, argv, quick=False):
        self.name, self.kind, self.argv = name, kind, argv
        self.quick = quick


def list_programs(build):
    """All programs; those of ours are in BUILD/accuracy/kernels."""
    real = [
        Program("gzip", "compression", ["/usr/bin/gzip", "-6nc", "text-1"], quick=True),
        Program("bzip2", "compression", ["/usr/bin/bzip2", "-9kc", "text-1"]),
        Program("xz", "compression", ["/usr/bin/xz", "-T1", "-4kc", "text-1"]),
        Program("zstd", "compression",
                ["/usr/bin/zstd", "-q", "--single-thread", "-12", "-c", "text-3"]),
        Program("sqlite3", "database", ["/usr/bin/sqlite3", ":memory:", ".read query.sql"], quick=True),
        Program("python3", "interpreter", [PYTHON[-1] if PYTHON else "python3", "-ISB", "words.py",
                                           "text-1"], quick=True),
        Program("perl", "interpreter", ["/usr/bin/perl", "words.pl", "text-1"]),
        Program("gawk", "interpreter", ["/usr/bin/gawk", "-f", "words.awk", "text-1"]),
        Program("cc1", "compiler", [CC1[-1] if CC1 else "cc1", "-quiet", "-O2", "-w", "source.i",
                                    "-o", "/dev/null"]),
        Program("openssl", "crypto", ["/usr/bin/openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-iter",
                                      "60000", "-pass", "pass:secret", "-S", "0102030405060708",
                                      "-in", "text-3"]),
        Program("grep", "text", ["/usr/bin/grep", "-acEi",
                                 "(struct|union)[ _a-z]*[0-9]+|[a-z]+_(get|put)[a-z]*\\(|([a-z]{4})_\\3",
                                 "text-3"]),
        Program("sed", "text", ["/usr/bin/sed", "-f", "edit.sed", "text-1"]),
        Program("sort", "sorting", ["/usr/bin/sort", "--parallel=1", "-k2", "text-3"]),
        Program("flac", "media", ["/usr/bin/flac", "-8", "-s", "-c", "sound.wav"]),
        Program("lame", "media", ["/usr/bin/lame", "--quiet", "-h", "sound.wav", "-"]),
        Program("git", "version control", ["/usr/bin/git", "--git-dir=history.git", "log", "-p",
                                           "--stat", "--no-color", "main"]),
        Program("openblas", "linear algebra", [os.path.join(build, "accuracy", "linear")]),
    ]
    kernels = [Program(name, "kernel", [os.path.join(build, "accuracy", "kernels", name)],
                       quick=name in ("sieve", "interpret"))
               for name in KERNELS]
    return real + kernels
