#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A torch whose files have other names (a repaired wheel, a product's own build) is not recorded, and each
# function of it that has our hook before it is called as without us: all names of the map that are torch's;
# those of CUPTI likewise.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1

# make_source NAMES: C with a function of each name and run(), which calls all.
make_source()
{
	local name second n=0
	printf '#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\nstatic unsigned n_called;\n'
	while read -r name; do
		n=$((n + 1))
		cat <<-EOT
			void *f$n(void *a, void *b, void *c, uint64_t d, uint64_t e) __asm__("$name");
			void *f$n(void *a, void *b, void *c, uint64_t d, uint64_t e)
			{
				n_called++;
				return (void *)$n;
			}
		EOT
	done <"$1"
	printf 'void run(void)\n{\n\tvoid *block[3] = {calloc(1, 4096), calloc(1, 4096), calloc(1, 4096)};\n\n'
	n=0
	while read -r name; do
		n=$((n + 1))
		second='block[1]'
		# A user's.
		[[ $name != *RecordFunctionC1* ]] || second='(void *)7'
		printf '\tn_called = 0;\n\tprintf("%s %%p", f%d(block[0], %s, block[2], 0, 0));\n' "$name" $n "$second"
		printf '\tprintf(" %%u\\n", n_called);\n'
	done <"$1"
	printf '}\n'
}

sed -n 's/^	\(_ZNK\?[0-9]*\(2at\|3c10\|4c10d\|5torch\)[^;]*\);$/\1/p' "$TOP/preload/libtrainprof.map" >names
ok "there are names" test "$(wc -l <names)" -ge 15
make_source names >torch.c
echo 'void run(void); int main(void) { run(); return 0; }' >main.c
cat >loads.c <<'EOT'
#include <dlfcn.h>
#include <stdio.h>

int main(int n, char **path)
{
	void *library = dlopen(path[1], RTLD_NOW | RTLD_LOCAL);
	void (*run)(void);

	*(void **)&run = library ? dlsym(library, "run") : NULL;
	if (!run)
		return 1;
	run();
	return 0;
}
EOT
{
	"${CC:-cc}" -O1 -fPIC -shared -o libtorch_cpu-1a2b3c.so torch.c &&
		"${CC:-cc}" -o loads loads.c -ldl &&
		"${CC:-cc}" -O1 -fPIE -pie -rdynamic -o whole main.c torch.c &&
		"${CC:-cc}" -o linked main.c ./libtorch_cpu-1a2b3c.so
} || no_program

# Only of these is the answer passed on; the others have none.
answers='getTracingState|getBackend|ProcessGroupGloo(4send|4recv|13recvAnysource)'
for how in loads linked whole; do
	for who in bare train; do
		$who "$how.$who" ./$how ./libtorch_cpu-1a2b3c.so
		is "$how, $who: it ends" "$status" 0
		sed -E "/$answers/!s/ (0x[0-9a-f]+|\(nil\)) / /" "$how.$who.out" >"$how.$who.said"
	done
	is "$how: each function is called once, and answers" "$(cat "$how.train.said")" "$(cat "$how.bare.said")"
	is "$how: all of them" "$(grep -c ' 1$' "$how.train.out")" "$(wc -l <names)"
	is "$how: not a word" "$(cat "$how.train.err")" ""
done

sed -n 's/^	\(cupti[^;]*\);$/\1/p' "$TOP/preload/libtrainprof.map" >names
ok "there are names of CUPTI" test "$(wc -l <names)" -ge 8
make_source names >cupti.c
"${CC:-cc}" -O1 -fPIC -shared -o libcupti-1a2b3c.so.13 cupti.c || no_program
bare cupti.bare ./loads ./libcupti-1a2b3c.so.13
train cupti.train ./loads ./libcupti-1a2b3c.so.13
is "CUPTI: each function is called once, and answers" "$status $(cat cupti.train.out)" "0 $(cat cupti.bare.out)"
is "CUPTI: all of them" "$(grep -c ' 1$' cupti.train.out)" "$(wc -l <names)"
done_testing
