#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# trainprof completion: shells offer every option, format, view and word that the parts know.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
export PYTHONDONTWRITEBYTECODE=1
trainprof=$TOP/scripts/trainprof
cmp -s "$LIB" "$("$trainprof" lib 2>/dev/null)" ||
	skip_all "the checkout's build is not the one that is tested"

ok "bash takes it" bash -c 'eval "$("$0" completion bash)"' "$trainprof"
eval "$("$trainprof" completion bash)"
# offers WORDS...: what is offered for the last of them.
offers()
{
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_trainprof
	printf '%s\n' "${COMPREPLY[@]}"
}

is "commands" "$(offers trainprof d)" doctor
missing=
for option in $("$MERGE" --help | sed -n 's/^  .\{4\}\(--[a-z-]*\).*/\1/p'); do
	offers trainprof merge -- | grep -qx -e "$option" || missing="$missing $option"
	offers trainprof-merge "$option" | grep -qx -e "$option" || missing="$missing merge:$option"
done
is "every option of the merge" "$missing" ""
ok "there are options of the merge" [ "$(offers trainprof merge -- | wc -l)" -gt 15 ]
is "formats" "$(offers trainprof-merge -f spee)" speedscope
is "formats, with their colon" "$(offers trainprof merge --format torch | tr '\n' ' ')" "torch torch:tb "
is "views, after a comma" "$(offers trainprof merge -v overview,mo)" overview,module
is "views, after =" "$(offers trainprof merge --view = hea)" health
is "words of RECORD" "$(offers trainprof run --record ops,pysta)" ops,pystacks
is "options of run" "$(offers trainprof run --sch)" --schedule
is "commands to run" "$(offers trainprof run -- gre | grep -x grep | head -n 1)" grep
touch aFileHere
is "files" "$(offers trainprof merge aFile)" aFileHere
for shell in zsh fish; do
	"$trainprof" completion $shell >script.$shell
	missing=
	for word in speedscope health pystacks by-shape no-merge dry-run python; do
		grep -q -e "$word" script.$shell || missing="$missing $word"
	done
	is "$shell: options, formats, views, words" "$missing" ""
done

# The shells themselves: a tab, here ~, at the end of each line.
tr '~' '\t' >typed <<'END'
trainprof d~
trainprof merge -f spee~
trainprof merge --format torch:t~
trainprof merge -v overview,mo~
trainprof merge --format=torch:t~
trainprof run --record ops,pysta~
trainprof run readel~
trainprof run -- readel~
trainprof run -- cat aFi~
trainprof-merge -v heal~
trainprof completion fi~
trainprof merge aFi~
END
cat >wanted <<'END'
doctor
merge -f speedscope
merge --format torch:tb
merge -v overview,module
merge --format=torch:tb
run --record ops,pystacks
run readelf
run -- readelf
run -- cat aFileHere
-v health
completion fish
merge aFileHere
END
said='trainprof() { echo GOT $*; }; trainprof-merge() { echo GOT $*; }'
is "bash completes what is typed" "$("$PYTHON" "$TOP/tests/flow/lib/typed.py" \
	"eval \"\$('$trainprof' completion bash)\"; $said" bash --norc -i <typed 2>&1)" "$(cat wanted)"
if command -v zsh >/dev/null; then
	is "zsh completes what is typed" "$("$PYTHON" "$TOP/tests/flow/lib/typed.py" \
		"autoload -Uz compinit; compinit -D -u; . ./script.zsh; $said" zsh -f -i <typed 2>&1)" "$(cat wanted)"
else
	skip "zsh completes what is typed" "no zsh (make setup-long)"
fi
if command -v fish >/dev/null; then
	# What it offers, of which the line's last word is made.
	sed 's/\t$//' typed | while IFS= read -r line; do
		HOME=$TMP fish --no-config -c "source script.fish; complete -C '$line'" | sed "s/\t.*//; q"
	done >offered
	is "fish completes what is typed" "$(cat offered)" "$(sed 's/.* //' wanted)"
else
	skip "fish completes what is typed" "no fish (make setup-long)"
fi
"$trainprof" completion tcsh >out 2>err
is "another shell: usage" "$? $(wc -l <err)" "2 1"
done_testing
