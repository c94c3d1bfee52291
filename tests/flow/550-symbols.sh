#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 550-symbols.sh - names, files and lines of addresses: every way in which a program can have its
# debug information, or not have it any more

. "$(dirname "$0")/lib/lib.sh"

places=$O/tests/progs/places
for tool in g++ objcopy readelf addr2line; do
	command -v $tool >/dev/null || skip_all "no $tool here (make setup)"
done
cd "$TMP" || exit 1
cp "$PROGS/inlines.cc" "$PROGS/inlines.h" .

# build NAME COMPILER FLAGS...: always the same source, at the same place.
build()
{
	local name=$1
	shift
	"$@" -Wl,--build-id -o "$name" "$TMP/inlines.cc" >"$name.log" 2>&1
}

compare()
{
	"$PYTHON" "$TOP/tests/flow/lib/compare_symbols.py" "$@"
}

id_of()
{
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

# ask NAME ARGUMENTS...: what is found at the addresses of `plain.list`, in NAME.places.
ask()
{
	local name=$1
	shift
	"$places" "$@" <plain.list >"$name.places"
}

# named NAME: how many of its addresses have a name; lined: that have a line.
named() { grep -A1 '^0x' "$1.places" | grep -vc '^0x\|^--\|^?$'; }
lined() { grep -c ':[1-9][0-9]*$' "$1.places"; }

# ---- as compilers write it ----

build plain g++ -g -O2 || skip_all "g++ cannot build: $(tail -n 1 plain.log)"
stride=5
compare --list plain 5 >plain.list
n_all=$(wc -l <plain.list)
ok "there is something to ask" test "$n_all" -gt 500

# against NAME: compared with the tools.
against()
{
	compare --list "$1" $stride | "$places" "$TMP/$1" >"$1.places"
	# Each of them is wrong somewhere.
	command -v eu-addr2line >/dev/null && command -v llvm-addr2line >/dev/null ||
		{ skip "$2: as addr2line says" "no eu-addr2line or no llvm-addr2line (make setup)"; return; }
	ok "$2: as addr2line says" compare "$1" $stride "$1.places"
}

variant()
{
	local name=$1
	shift
	if build "$name" "$@"; then
		against "$name" "$*"
	else
		skip "$*" "$(head -n 1 "$name.log")"
	fi
}

stride=1
[ -n "${LONG:-}" ] || stride=3
against plain "g++ -g -O2"
stride=11
variant unoptimised g++ -g -O0
variant older g++ -gdwarf-4 -O3
variant whole g++ -g -O2 -flto
variant compressed g++ -g -Og -gz
variant fixed g++ -g -O2 -no-pie
if command -v clang++ >/dev/null && command -v llvm-addr2line >/dev/null; then
	variant clang clang++ -g -O2
	variant clang-older clang++ -gdwarf-4 -O1
else
	skip "clang's programs" "no clang++ with llvm-addr2line"
fi

# Two units that are linked into one; only one of them knows its lines.
cat >half.c <<'SOURCE'
int half(int x) { return x * 5 + 1; }
SOURCE
if gcc -O2 -c -o half.o half.c && build mixed g++ -g -O2 half.o -Wl,-u,half; then
	at=$(nm mixed | sed -n 's/ T half$//p')
	is "a unit without debug information: its function, no line" \
		"$(echo "$at" | "$places" "$TMP/mixed" | tail -n +2)" "half
?:0"
fi

# Nor does every compiler write a table of which unit is where.
if gcc -g -O2 -c -o half.o half.c && objcopy -R .debug_aranges -R .rela.debug_aranges half.o &&
	build partly g++ -g -O2 half.o -Wl,-u,half; then
	at=$(nm partly | sed -n 's/ T half$//p')
	is "a unit that is in no table" "$(echo "$at" | "$places" "$TMP/partly" | tail -n +2)" "half
$TMP/half.c:1"
fi
ask plain "$TMP/plain"
objcopy -R .debug_aranges plain tableless
ask tableless "$TMP/tableless"
ok "no unit is in a table" cmp plain.places tableless.places

# GNU C's functions within functions: where else no function is.
cat >nested.c <<'SOURCE'
int main(int n, char **arg)
{
	__attribute__((noinline, noclone)) int inside(int x) { return x * n + 1; }
	return inside(n) + inside(n + 1);
}
SOURCE
if gcc -g -O1 -o nested nested.c 2>nested.log; then
	at=$(nm nested | sed -n 's/ t inside[.0-9]*$//p')
	is "a function within a function" "$(echo "$at" | "$places" "$TMP/nested" | tail -n +2)" \
		"inside
$TMP/nested.c:3"
fi

like "a template of a lambda is named with what it is in" "$(cat plain.places)" \
	'^void std::__introsort_loop<.*lambdas\(int\)::\{lambda'

# ---- elsewhere than in the program ----

# same NAME DESCRIPTION: it says of each address what the whole program says.
same()
{
	ok "$2" cmp plain.places "$1.places"
}

strip -o bare plain
objcopy --only-keep-debug plain plain.debug
objcopy --add-gnu-debuglink=plain.debug bare linked
ask linked "$TMP/linked"
same linked "a debug file beside the program, by .gnu_debuglink"

mkdir -p .debug
mv plain.debug .debug/
ask linked "$TMP/linked"
same linked "a debug file in .debug"

build another g++ -g -O2 -DANOTHER -fno-inline
objcopy --only-keep-debug another .debug/plain.debug
ask linked "$TMP/linked"
is "a debug file of another build is not believed" "$(lined linked) lines" "0 lines"
rm -r .debug

mkfifo plain.debug
timeout 60 "$places" "$TMP/linked" <plain.list >linked.places
is "a pipe where the debug file should be is not waited for" "$?" 0
rm plain.debug

id=$(id_of plain)
debug=root/usr/lib/debug/.build-id/${id:0:2}
mkdir -p "$debug" root/opt
objcopy --only-keep-debug plain "$debug/${id:2}.debug"
cp bare root/opt/program
ask by-id -r "$TMP/root" /opt/program
same by-id "a debug file by build id, below a root"
rm root/opt/program
ask deleted -r "$TMP/root" -b "$id" /opt/program
same deleted "a program that was deleted, its debug file is there"
cp another root/opt/program
ask replaced -r "$TMP/root" -b "$id" /opt/program
same replaced "a program that was replaced, its debug file is there"
cp "$(type -P true)" "$debug/${id:2}.debug"
ask replaced -r "$TMP/root" -b "$id" /opt/program
is "a debug file with the right name and a wrong build id is not believed" \
	"$(named replaced) named, $(tail -n 1 replaced.places)" \
	"0 named, trouble: changed since the run: its build id is another"
rm -r root

for version in 4 5; do
	mkdir split
	cd split || exit 1
	if build program g++ -gdwarf-$version -O2 -gsplit-dwarf && build whole g++ -gdwarf-$version -O2
	then
		for each in program whole; do
			compare --list program 5 | "$places" "$PWD/$each" >$each.places
		done
		ok ".dwo files, DWARF $version" cmp whole.places program.places
		rm -- *.dwo
		compare --list program 5 | "$places" "$PWD/program" >program.places
		ok ".dwo files that are gone, DWARF $version: functions and lines are there" \
			test "$(grep -c '^void std::__\|^plain$' program.places)" -gt 20 -a \
			"$(lined program)" -gt 200
		for each in $(readelf --debug-dump=info program 2>/dev/null |
			sed -n 's/.*dwo_name.*: //p'); do
			mkfifo "$each"
		done
		compare --list program 5 | timeout 60 "$places" "$PWD/program" >program.places
		is "pipes where .dwo files should be, DWARF $version, are not waited for" \
			"$? $(ls ./*.dwo >/dev/null && echo pipes)" "0 pipes"
	else
		skip ".dwo files, DWARF $version" "the compiler does not write them"
	fi
	cd ..
	rm -r split
done

if command -v dwz >/dev/null; then
	cp plain one
	cp another two
	dwz -m "$TMP/shared.debug" one two 2>dwz.log
	ask one "$TMP/one"
	if [ -e shared.debug ]; then
		same one "debug information that dwz has moved to a third file"
		rm shared.debug
		ask one "$TMP/one"
		is "and when that is gone: functions" \
			"$(awk '/^0x/ { at = $0 } /:[0-9]+$/ { of[at] = last } { last = $0 }
			END { for (at in of) n += of[at] != "?"; print n }' one.places)" "$n_all"
	else
		same one "debug information that dwz has made smaller"
	fi
else
	skip "dwz" "not here"
fi

# ---- not there ----

strip --strip-debug -o symbols-only plain
ask symbols-only "$TMP/symbols-only"
is "without debug information: functions, no lines" \
	"$(named symbols-only) named, $(lined symbols-only) lines" "$n_all named, 0 lines"

ask bare "$TMP/bare"
is "without symbols: plainly unknown" "$(named bare) named, $(tail -n 1 bare.places)" \
	"0 named, trouble: it has no symbols for its $n_all addresses"

build exporting g++ -g -O2 -rdynamic
strip exporting
printf '%s\n' "$(nm -D exporting | sed -n 's/ T plain$//p')" "$(nm -D exporting | sed -n \
	's/ T _init$//p')" 0x10 >exported.list
like "only what is exported has a name" \
	"$("$places" "$TMP/exporting" <exported.list | tr '\n' ' ')" \
	'0x[0-9a-f]* plain \?:0 .*0x0*10 \? \?:0 trouble: it has no symbols for [12] of [23] addresses'

cp plain changing
ask changing -b "$(id_of another)" "$TMP/changing"
is "another build id" "$(named changing) named, $(tail -n 1 changing.places)" \
	"0 named, trouble: changed since the run: its build id is another"
ask changing -b none "$TMP/changing"
is "a build id where there was none" "$(tail -n 1 changing.places)" \
	"trouble: changed since the run: its build id is another"
g++ -g -O2 -Wl,--build-id=none -o without "$TMP/inlines.cc"
compare --list without 5 | "$places" "$TMP/without" >without.places
ok "no build id, then and now: the file is believed" cmp plain.places without.places
rm changing
ask changing -b "$id" "$TMP/changing"
is "deleted" "$(named changing) named, $(tail -n 1 changing.places)" \
	"0 named, trouble: it is not there any more"
if [ "$(id -u)" -ne 0 ]; then
	cp plain locked
	chmod 0 locked
	ask locked -b "$id" "$TMP/locked"
	is "not readable" "$(tail -n 1 locked.places)" "trouble: cannot open it: Permission denied"
fi

# ---- large ----

# Everything that is not loaded moves behind a hole of a gigabyte.
"$PYTHON" - plain large <<'SOURCE'
import os, struct, sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
hole = 1 << 30
head = bytearray(data[:64])
(sections,) = struct.unpack_from("<Q", head, 40)
n_sections = struct.unpack_from("<H", head, 60)[0]
table = bytearray(data[sections:sections + 64 * n_sections])
for at in range(0, len(table), 64):
    kind, flags = struct.unpack_from("<IQ", table, at + 4)
    if kind and not flags & 2:
        offset = struct.unpack_from("<Q", table, at + 24)[0]
        struct.pack_into("<Q", table, at + 24, offset + hole)
struct.pack_into("<Q", head, 40, sections + hole)
with open(sys.argv[2], "wb") as file:
    file.write(head + data[64:])
    file.seek(hole)
    file.write(data)
    file.seek(sections + hole)
    file.write(table)
    file.truncate(hole + len(data))
SOURCE
ask large "$TMP/large"
same large "a library of a gigabyte"
peak_mb=$("$places" -n "$TMP/large" <plain.list | sed -n 's/.*peak \([0-9]*\) MiB/\1/p')
ok "in ${peak_mb:-?} MiB" test "${peak_mb:-1000}" -lt 64
rm large

# ---- Rust ----

rustc=$(command -v rustc || true)
if [ -n "$rustc" ]; then
	cat >shapes.rs <<'SOURCE'
mod shapes {
    pub trait Area { fn area(&self) -> f64; }
    pub struct Square<T>(pub T);
    impl<T: Copy + Into<f64>> Area for Square<T> {
        #[inline(never)]
        fn area(&self) -> f64 { helper(self.0.into()) }
    }
    #[inline(always)]
    fn helper(s: f64) -> f64 { (0..s as usize + 3).map(|i| i as f64 * s).sum() }
}
use shapes::Area;
fn main() {
    let side = std::env::args().count() as f32;
    println!("{}", shapes::Square(side).area());
}
SOURCE
	if "$rustc" -g -O -C link-arg=-Wl,--build-id -o shapes shapes.rs >rust.log 2>&1; then
		at=$(nm shapes | sed -n 's/ t .*shapes.*Square.*area.*//p' | head -n 1)
		found=$(printf '%s\n' "$at" | "$places" "$TMP/shapes")
		like "a function of Rust" "$found" 'shapes::Square<.*> as .*shapes::Area>::area$'
		like "and where it is" "$found" '/shapes.rs:[69]$'
	else
		skip "Rust" "$(head -n 1 rust.log)"
	fi
else
	skip "Rust" "no rustc"
fi

# ---- servers of debug information ----

if "$PYTHON" -c 'import ctypes; ctypes.CDLL("libdebuginfod.so.1")' 2>/dev/null; then
	mkdir -p server/buildid/"$id"
	objcopy --only-keep-debug plain "server/buildid/$id/debuginfo"
	cp plain "server/buildid/$id/executable"
	cat >server.py <<'SOURCE'
import functools, http.server

handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory="server")
with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
    with open("port.new", "w") as file:
        file.write(str(server.server_address[1]))
    __import__("os").rename("port.new", "port")
    server.serve_forever()
SOURCE
	"$PYTHON" server.py 2>server.log &
	server=$!
	for _ in $(seq 200); do
		[ -e port ] || sleep 0.1
	done
	export DEBUGINFOD_CACHE_PATH=$TMP/cache
	unset DEBUGINFOD_URLS
	ask asked "$TMP/bare"
	is "no server is named: none is asked" "$(named asked) named, $(wc -l <server.log) requests" \
		"0 named, 0 requests"
	DEBUGINFOD_URLS=http://127.0.0.1:$(cat port) ask asked "$TMP/bare"
	same asked "debug information from a server"
	DEBUGINFOD_URLS=http://127.0.0.1:$(cat port) ask asked -b "$id" "$TMP/nowhere"
	same asked "a program that was deleted, from a server"
	kill $server
	wait $server 2>/dev/null
	rm -r cache
	DEBUGINFOD_URLS=http://127.0.0.1:$(cat port) ask asked "$TMP/symbols-only"
	is "a server that is out of reach: what is in the file" "$(named asked)" "$n_all"
else
	skip "servers of debug information" "no libdebuginfod"
fi

done_testing
