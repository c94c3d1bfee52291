# SPDX-License-Identifier: Apache-2.0
## trainprof - build, test and install.  `make help` lists the targets.
#
#   O=dir  V=1  DEBUG=1  WERROR=1  SAN=address|undefined|thread  CC=clang
#   prefix=/usr/local  DESTDIR=  PYTHON=python3  CUDA_INCLUDE=folders of NVIDIA's headers
#   DYGRAPHS=folder of the chart library
#
# Products go to $(O), never beside the sources. User's CFLAGS, CPPFLAGS, LDFLAGS are added.

# A sanitizer build never mixes with another. (No comment after a value: make keeps the spaces.)
comma := ,
O ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
Q  = $(if $(filter 1,$(V)),,@)
PYTHON ?= python3
CFLAGS ?= -O2 -g
prefix ?= /usr/local
libdir ?= $(prefix)/lib
bindir ?= $(prefix)/bin
mandir ?= $(prefix)/share/man

# NVIDIA's headers, for the GPU half of the library; nothing of theirs is linked.
ifndef CUDA_INCLUDE
CUDA_INCLUDE := $(shell scripts/cuda-include)
endif

# The chart library of the page of trainprof-merge -f html; without it curves do not zoom.
ifndef DYGRAPHS
DYGRAPHS := $(wildcard /usr/share/javascript/dygraphs)
endif

tp_cppflags := -D_GNU_SOURCE -iquote . $(addprefix -isystem ,$(CUDA_INCLUDE))
tp_cflags := -std=gnu11 -fvisibility=hidden -fPIC -pthread -MMD -MP \
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings \
	-Wno-unused-parameter \
	$(if $(WERROR),-Werror) $(if $(DEBUG),-O0 -DTP_DEBUG) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
tp_ldflags := -pthread $(if $(SAN),-fsanitize=$(SAN))

# Sources of folders and of their rooms, to two floors down.
sources = $(sort $(foreach d,$(1),$(wildcard $d/*.$(2) $d/*/*.$(2) $d/*/*/*.$(2))))
obj = $(patsubst %.c,$(O)/%.o,$(call sources,$(1),c))
shared_obj  := $(call obj,runtime/base runtime/trace)
engine_obj  := $(call obj,runtime/engine)
runtime_obj := $(shared_obj) $(engine_obj) $(call obj,runtime/probe)
preload_obj := $(call obj,preload)
merge_all   := $(filter-out $(O)/merge/main.o,$(call obj,merge))
read_obj    := $(call obj,merge/arrow)
merge_obj   := $(filter-out $(read_obj),$(merge_all))
headers     := $(call sources,preload runtime merge,h)

zstd_a := $(firstword $(wildcard $(shell $(CC) -print-file-name=libzstd.a 2>/dev/null)))

lib   := $(O)/libtrainprof.so
nop   := $(O)/libtrainprof-nop.so
merge := $(O)/trainprof-merge
read  := $(O)/libtrainprof-read.so

## all: the library, the merge tool, the reader library, the nop library (the default)
all: $(lib) $(nop) $(merge) $(read)

# Once a build folder: one line says which headers of a level are missing, and what to run. (It gets
# CC and flags in its environment, as every recipe does.)
$(O)/.headers-%:
	@mkdir -p $(@D)
	@scripts/setup --headers --level $*
	@touch $@

$(O)/%.o: %.c | $(O)/.headers-demo
	@mkdir -p $(@D)
	@$(if $(Q),echo "  CC  $<")
	$(Q)$(CC) $(tp_cppflags) $(CPPFLAGS) $(tp_cflags) $(CFLAGS) -c -o $@ $<

# Taken in as they are.
$(O)/runtime/probe/python/frameworks.o: runtime/probe/python/frameworks.py

$(preload_obj) $(call obj,runtime/probe): | cuda-headers
cuda-headers: | $(O)/.headers-demo
	@[ -n '$(strip $(CUDA_INCLUDE))' ] || { echo "no headers of CUDA 13.0 or newer: run \
	make setup, or give their folders in CUDA_INCLUDE" >&2; exit 1; }

# Names are exported because the sources say so (preload/export.h); libtrainprof.map lists which
# were reviewed, and check-exports compares. Bound at once: the loader takes 3 KiB of the stack to bind
# a name at its first call, and a hook may be on the last ones of a signal handler's.
$(lib): $(preload_obj) $(runtime_obj) preload/versions.map
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) -shared $(tp_ldflags) $(LDFLAGS) -Wl,-soname,libtrainprof.so \
		-Wl,--version-script=preload/versions.map -Wl,--exclude-libs,ALL -Wl,-z,nodelete,-z,now \
		$(if $(SAN),,-Wl,-z,defs) -o $@ $(preload_obj) $(runtime_obj) $(zstd_a) -ldl -lm

# The malloc hooks alone, and they only forward: what it costs just to stand in between.
nop_obj := $(addprefix $(O)/nop/preload/,real.o boot_heap.o hook_heap.o)
$(O)/nop/%.o: %.c | $(O)/.headers-demo
	@mkdir -p $(@D)
	@$(if $(Q),echo "  CC  $< (nop)")
	$(Q)$(CC) $(tp_cppflags) -DTP_NOP $(CPPFLAGS) $(tp_cflags) $(CFLAGS) -c -o $@ $<

$(nop): $(nop_obj)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) -shared $(tp_ldflags) $(LDFLAGS) -Wl,-soname,libtrainprof-nop.so \
		$(if $(SAN),,-Wl,-z,defs) -o $@ $^ -ldl

# The sources of the page, as merge/page/page_files.c takes them in: scripts are one, in its order.
page := $(O)/page
page_sources := merge/page/page.html merge/page/page.css $(sort $(wildcard merge/page/page_*.js)) merge/page/page.js
page_charts := $(if $(DYGRAPHS),$(addprefix $(DYGRAPHS)/,dygraph.min.css dygraph.min.js))
# Made again when another library is named, or one is there now.
page_from := $(page)/from$(subst /,-,$(DYGRAPHS))
$(page)/hashes: $(page_sources) merge/page/page_charts.txt $(page_charts) scripts/page-files \
		$(if $(wildcard $(page_from)),,page-again)
	@$(if $(Q),echo "  GEN $@")
	$(Q)scripts/page-files $(page) '$(DYGRAPHS)' $(page_sources)
	@rm -f $(page)/from* && touch $(page_from)
.PHONY: page-again
page-again:
$(O)/merge/page/page_files.o: tp_cppflags += -DTP_PAGE='"$(page)"'
$(O)/merge/page/page_files.o: $(page)/hashes

$(merge): $(O)/merge/main.o $(merge_obj) $(shared_obj)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) $(tp_ldflags) $(LDFLAGS) -o $@ $^ $(zstd_a) -ldeflate -liberty -ldw -lelf -lz -lm

# The merge without its command line. What it exports stands in merge/arrow/trainprof_read.h.
$(read): $(read_obj) $(filter-out $(addprefix $(O)/merge/,command.o command_beside.o command_choose.o terminal.o fields.o),$(merge_obj)) $(shared_obj)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) -shared $(tp_ldflags) $(LDFLAGS) -Wl,-soname,libtrainprof-read.so -Wl,--exclude-libs,ALL \
		-Wl,-z,nodelete $(if $(SAN),,-Wl,-z,defs) -o $@ $^ $(zstd_a) -ldeflate -liberty -ldw -lelf -lz -lm

include tests/tests.mk
-include scripts/scripts.mk

## clean: remove the products of this configuration (not the Python environment)
clean:
	@[ ! -d $(O) ] || find $(O) -mindepth 1 -maxdepth 1 ! -name venv -exec rm -rf {} +

## help: this list
help:
	@sed -n 's/^## \([a-z0-9-]*\): \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20
	@sed -n 's/^#   \(.*\)/  \1/p' Makefile

.PHONY: all clean help cuda-headers
.SECONDARY:
-include $(shell find $(O) \( -name venv -o -name log -o -name 'root-*' \) -prune -o -type f -name '*.d' -print 2>/dev/null)
