# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 5
# Java: methods that HotSpot compiled by their names in the map that it writes as it ends, and stacks through
# them and its interpreter.
. "$(dirname "$0")/../sampling.sh"
need_sampling
if ! command -v javac >/dev/null; then
	skip 'java' 'no JDK is installed'
	tap_end
fi
cat >Work.java <<'EOF'
public class Work {
	static long inner(long n) {
		long s = 1;
		for (long i = 1; i < n; i++) {
			s = s * 31 + i % 7;
			s ^= s >>> 13;
		}
		return s;
	}
	static long middle(int k) {
		long t = 0;
		for (int i = 0; i < k; i++)
			t += inner(200000);
		return t;
	}
	public static void main(String[] a) {
		var thread = java.lang.management.ManagementFactory.getThreadMXBean();
		System.out.println(ProcessHandle.current().pid());
		long t = 0;
		while (thread.getCurrentThreadCpuTime() < 4000000000L)
			t += middle(5);
		System.err.println(t);
	}
}
EOF
javac Work.java
record java --no-edges -F 100 -- java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit \
	-XX:+PreserveFramePointer -cp . Work
expect "compiled methods have names" java.db '
inner = p.function(r".*Work\.(inner|middle).*")
made = p.count(image=r"\[jit\]")
print(f"{inner} samples in inner and middle, of {made} in code made at run time")
assert inner > 100 and inner > 0.8 * made, p.top()
'
expect 'stacks go through the interpreter to the start of the thread' java.db "from stack_reader import Stacks
s = Stacks('$culprit', 'java.db')
print(f'{s.stacks} stacks, {s.complete} complete, {s.through(\"Interpreter\")} of {s.samples} samples in the interpreter')
assert s.stacks > 100 and s.complete > 0.9 * s.stacks and s.through('Interpreter') > 0.8 * s.samples
assert s.count(lambda path: 'libjli.so' in s.images(path)) > 0.8 * s.samples"
rm -f "/tmp/perf-$(head -1 java.out).map"
tap_end
