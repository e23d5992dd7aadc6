# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# Reports on a terminal: pager, width, long names, colour.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS PAGER LESS NO_COLOR

cat >app.cc <<'C'
namespace ns {
template <class T, int N> struct outer {
	template <class U> struct functor_with_a_long_name {
		__attribute__((noinline, used)) int operator()(const U &u, const outer<T, N> &) const
		{
			asm volatile("");
			return u + N;
		}
	};
};
}
using very_long = ns::outer<ns::outer<ns::outer<double, 3>, 2>, 1>;
extern "C" {
#define MANY(n) __attribute__((noinline)) void function_##n(void) { asm volatile(""); }
MANY(0) MANY(1) MANY(2) MANY(3) MANY(4) MANY(5) MANY(6) MANY(7) MANY(8) MANY(9)
}
int main(int argc, char **)
{
	return very_long::functor_with_a_long_name<long>()(argc, very_long());
}
C
c++ -g -O1 -Wl,--build-id -o app app.cc
id=$(readelf -n app | sed -n 's/.*Build ID: //p')
{
	printf 'epoch\t1700000000\t1700000060\n'
	count=100
	while read -r address name; do
		# The longest name ranks last, so that a pager has it on a later page.
		case $name in *operator*) samples=1 ;; *) samples=$((count += 1)) ;; esac
		printf 'sample\t1\t%s\t%s\tcycles\t1000\t%d\t%d\tcomm=app\tpid=7\n' "$id" "$PWD/app" \
			$((0x$address)) $samples
	done < <(nm -C app | sed -n 's/ [TtWwVv] \(function_\|.*operator()\)/ \1/p')
} | "$build/tests/cli/mkdb" a.db m1 || fail "mkdb"

python3 "$root/tests/cli/pager.py" "$culprit" "$PWD/a.db" >python.out 2>python.err
status=$?
sed -n '/^1\.\./!p' python.out
tap_count=$(grep -c '^\(not \)\?ok' python.out)
tap_failures=$(grep -c '^not ok' python.out)
grep -q '^1\.\.' python.out || fail "pager.py comes to its end" "exit status $status" "$(cat python.err)"
tap_end
