# SPDX-License-Identifier: Apache-2.0
# fuzz.mk - damaged input for the readers and the whole merge: the corpus replayed, then libFuzzer
# for a while each

FUZZ_SECONDS ?= 60
FUZZ_WHOLE_SECONDS ?= 120
fuzz_names    := reader kineto whole
fuzz_of_shared := $(wildcard runtime/base/*.c runtime/trace/*.c)
fuzz_of_reader := $(fuzz_of_shared) $(wildcard merge/model/device*.c)
fuzz_of_kineto := $(fuzz_of_shared) $(wildcard merge/kineto/*.c merge/model/device*.c merge/model/shapes*.c) \
	$(addprefix merge/,kit/json_in.c kit/demangle.c kit/show.c kit/utf8.c sink/kineto_args.c model/scalar.c model/strings.c)
seeds_of       = tests/fuzz/corpus$(if $(filter kineto whole,$(1)),-$(1))
fuzz_cflags    = $(tp_cppflags) $(CPPFLAGS) -std=gnu11 -g -O2 -fno-omit-frame-pointer \
	-fno-sanitize-recover=undefined
# Ours changes whole files: short ones first would be without them. What an input is worth by the rarest
# of what it reaches takes half of the time with this many places, and looking for what other fuzzers found
# a twentieth.
fuzz_whole_how := -max_len=24000 -len_control=0 -entropic=0 -reload=0
fuzz_wrapped  := $(foreach f,malloc calloc realloc free,-Wl,--wrap=$f)
fuzz_libs     := $(zstd_a) -liberty -lz -lm

# What comparisons compare is left out: whole_mutate.c knows what to write, and it takes a quarter of
# the time. The whole merge has a hundred sources and more: an object each. Not looked for: NULL + 0, which
# every compiler defines, and the place of a member in NULL (a table that is asked for its columns
# has no row): where such a pointer is read, it is a crash anyway.
fuzz_objs      = $(patsubst %.c,$(O)/tests/fuzz/$(1)/%.o,$(call sources,merge runtime/base runtime/trace,c) \
	tests/fuzz/whole.c $(2))
fuzz_whole    := $(filter-out %/merge/main.o,$(call fuzz_objs,clang,\
	tests/fuzz/whole_mutate.c tests/fuzz/whole_blocks.c))
replay_whole  := $(filter-out %/merge/main.o,$(call fuzz_objs,plain))
$(O)/tests/fuzz/clang/merge/page/page_files.o $(O)/tests/fuzz/plain/merge/page/page_files.o: \
	fuzz_cflags += -DTP_PAGE='"$(page)"'
$(O)/tests/fuzz/clang/merge/page/page_files.o $(O)/tests/fuzz/plain/merge/page/page_files.o: \
	$(page)/hashes
$(O)/tests/fuzz/clang/%.o: %.c
	@mkdir -p $(@D)
	@$(if $(Q),echo "  CC  $< (fuzz)")
	$(Q)clang $(fuzz_cflags) -MMD -MP -fsanitize=fuzzer-no-link,address,undefined \
		-fno-sanitize=pointer-overflow,null -fno-sanitize-coverage=trace-cmp -c -o $@ $<
$(O)/tests/fuzz/plain/%.o: %.c
	@mkdir -p $(@D)
	@$(if $(Q),echo "  CC  $< (replay)")
	$(Q)$(CC) $(fuzz_cflags) -MMD -MP -fsanitize=address,undefined \
		-fno-sanitize=pointer-overflow,null -DTP_FUZZ_MAIN -c -o $@ $<
$(O)/tests/fuzz/whole-fuzz: $(fuzz_whole)
	@$(if $(Q),echo "  LD  $@")
	$(Q)clang -fsanitize=fuzzer,address,undefined -pthread $(fuzz_wrapped) -o $@ $^ $(fuzz_libs) -ldeflate -ldw -lelf
$(O)/tests/fuzz/whole-replay: $(replay_whole)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) -fsanitize=address,undefined -pthread -o $@ $^ $(fuzz_libs) -ldeflate -ldw -lelf

.SECONDEXPANSION:
$(O)/tests/fuzz/%-replay: tests/fuzz/%.c $$(fuzz_of_$$*) $(headers)
	@mkdir -p $(@D)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) $(fuzz_cflags) -fsanitize=address,undefined -DTP_FUZZ_MAIN -o $@ \
		$(filter %.c,$^) $(fuzz_libs)

$(O)/tests/fuzz/%-fuzz: tests/fuzz/%.c $$(fuzz_of_$$*) $(headers)
	@mkdir -p $(@D)
	@$(if $(Q),echo "  LD  $@")
	$(Q)clang $(fuzz_cflags) -fsanitize=fuzzer,address,undefined -o $@ $(filter %.c,$^) $(fuzz_libs)

## fuzz-replay: the corpus of damaged traces through the readers, under sanitizers
fuzz-replay: $(fuzz_names:%=$(O)/tests/fuzz/%-replay)
	$(Q)$(foreach n,$(fuzz_names),$(O)/tests/fuzz/$n-replay $(call seeds_of,$n)/* &&) true

# New inputs and crashes stay below $(O); a crash that was mended joins the corpus by hand.
## check-fuzz: the same, then new inputs for a while (FUZZ_SECONDS, FUZZ_WHOLE_SECONDS; needs clang)
check-fuzz: fuzz-replay
	$(Q)command -v clang >/dev/null || { echo 'no clang here'; exit 77; }; \
	for each in $(foreach n,$(fuzz_names),$n:$(call seeds_of,$n)); do \
		seeds=$${each#*:}; each=$${each%%:*}; \
		work=$(O)/tests/fuzz/$$each.work; mkdir -p $$work/found; \
		$(MAKE) -s --no-print-directory $(O)/tests/fuzz/$$each-fuzz || exit 1; \
		seconds=$(FUZZ_SECONDS) how=-max_len=8192; \
		[ $$each != whole ] || { seconds=$(FUZZ_WHOLE_SECONDS); how='$(fuzz_whole_how)'; }; \
		$(O)/tests/fuzz/$$each-fuzz -max_total_time=$$seconds $$how -timeout=30 \
			-rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix=$$work/ \
			$$work/found $$seeds 2>$$work/log; \
		status=$$?; tail -n 12 $$work/log; [ $$status -eq 0 ] || exit $$status; \
	done

.PHONY: fuzz-replay check-fuzz
.SECONDARY:
