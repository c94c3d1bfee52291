# SPDX-License-Identifier: Apache-2.0
"""compare_symbols.py - names, files and lines of addresses against the usual tools

usage: compare_symbols.py FILE STRIDE OURS

OURS is what tests/progs/places prints for `compare_symbols.py --list FILE STRIDE`. For each of
those addresses that is in a function, the chain of inlined functions must be one that a tool
prints, and each of its frames must have the name, and the file and line, that one of them
gives it: addr2line of binutils 2.40 takes files for others in DWARF 5 and does not see what
clang inlines; all take what has only a short name for what it is in, each at other times.
"""
import re
import shutil
import subprocess
import sys

TOOLS = (["addr2line"], ["eu-addr2line", "-A"], ["llvm-addr2line"])


def run(*command, text=None):
    # eu-addr2line ends with 1 after an address that it cannot find.
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout


def addresses(path, stride):
    """Every so many bytes of the functions that say how long they are."""
    found = set()
    for line in run("readelf", "-sW", path).splitlines():
        part = line.split()
        if len(part) > 7 and part[3] == "FUNC" and part[6] != "UND":
            begin, size = int(part[1], 16), int(part[2], 0)
            found.update(at for at in range(begin, begin + size) if at % stride == 0)
    return sorted(found)


def frames(text):
    """{address: [(name, "file:line")]} of what addr2line -a -f prints."""
    lines_of, at = {}, None
    for line in text.splitlines():
        if re.match("0x[0-9a-f]+$", line):
            at = int(line, 16)
            lines_of[at] = []
        elif at is not None and line and not line.startswith("trouble: "):
            lines_of[at].append(line)
    return {at: list(zip(map(name_of, lines[::2]), map(place_of, lines[1::2])))
            for at, lines in lines_of.items()}


def name_of(line):
    line = re.sub(" inlined at .*| \\(inlined by\\) ", "", line)
    line = re.sub("(\\.(cold|(isra|part|constprop|lto_priv)\\.\\d+))+$| \\[clone [^]]*\\]", "", line)
    # The demanglers disagree about spaces and lambdas.
    line = re.sub("'lambda\\d*'(\\([^()]*\\))", "{lambda\\1}", line)
    line = re.sub("\\{lambda(\\([^()]*\\))#\\d+\\}", "{lambda\\1}", line)
    return "?" if line == "??" else line.replace(" ", "")


def place_of(line):
    line = re.sub(" \\(discriminator \\d+\\)", "", line)
    match = re.match("(.*?):(\\d+|\\?)(:\\d+)?$", line)
    path, number = match.group(1), match.group(2).replace("?", "0")
    # Tools differ in whether a file is named where no line is.
    return "?:0" if path == "??" or number == "0" else "%s:%s" % (path, number)


def main():
    if sys.argv[1] == "--list":
        print("\n".join("0x%x" % at for at in addresses(sys.argv[2], int(sys.argv[3]))))
        return 0
    path, stride = sys.argv[1], int(sys.argv[2])
    asked = addresses(path, stride)
    with open(sys.argv[3], encoding="utf-8") as file:
        ours = frames(file.read())
    text = "".join("0x%x\n" % at for at in asked)
    theirs = [frames(run(*tool, "-a", "-i", "-f", "-C", "-e", path, text=text))
              for tool in TOOLS if shutil.which(tool[0])]
    n_wrong = n_named = n_inlined = 0
    for at in asked:
        mine = ours.get(at, [])
        same_length = [tool[at] for tool in theirs if len(tool.get(at, [])) == len(mine)]
        is_right = bool(same_length) and all(
            name in [each[k][0] for each in same_length] and
            place in [each[k][1] for each in same_length]
            for k, (name, place) in enumerate(mine))
        n_named += bool(mine) and mine[-1][0] != "?"
        n_inlined += len(mine) > 1
        if not is_right:
            n_wrong += 1
            if n_wrong < 4:
                print(("0x%x: %s, not one of" % (at, mine))[:400])
                for tool in theirs:
                    print(("    %s" % tool.get(at))[:400])
    print("%d addresses, %d named, %d inlined, %d wrong, %d tools" % (
        len(asked), n_named, n_inlined, n_wrong, len(theirs)))
    return bool(n_wrong or not asked)


sys.exit(main())
