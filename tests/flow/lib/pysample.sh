# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# pysample.sh - the sampler alone, as a library for ctypes

# build_pysample FLAGS...: ./pysample.so
build_pysample()
{
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -iquote "$TOP" "$@" -fPIC -shared -fvisibility=hidden \
		-o pysample.so "$PROGS"/py{stack,sample}_lib.c \
		"$TOP"/runtime/probe/python/{pystack*,pyapi,pyframe_layout}.c \
		"$TOP"/runtime/probe/sample/pysample_{frames,gc,names,outer,read,state,text,threads}.c \
		"$TOP"/runtime/base/{readable,text,open,peek,sandbox}.c -ldl || no_program
}
