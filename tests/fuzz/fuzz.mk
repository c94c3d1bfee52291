# SPDX-License-Identifier: Apache-2.0
# fuzz.mk - damaged input for the readers: the corpus replayed, then libFuzzer for a minute each

FUZZ_SECONDS ?= 60
fuzz_names    := reader kineto
fuzz_of_shared := $(wildcard runtime/base/*.c runtime/trace/*.c)
fuzz_of_reader := $(fuzz_of_shared) merge/model/device.c
fuzz_of_kineto := $(fuzz_of_shared) $(wildcard merge/kineto/*.c) \
	$(addprefix merge/,kit/json_in.c model/kineto.c model/strings.c model/device.c kit/demangle.c)
seeds_of       = tests/fuzz/corpus$(if $(filter kineto,$(1)),-kineto)
fuzz_cflags    = $(tp_cppflags) $(CPPFLAGS) -std=gnu11 -g -O1 -fno-omit-frame-pointer \
	-fno-sanitize-recover=undefined
fuzz_libs     := $(zstd_a) -liberty -lz -lm

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
## check-fuzz: the same, then new inputs for FUZZ_SECONDS each (60; needs clang)
check-fuzz: fuzz-replay
	$(Q)command -v clang >/dev/null || { echo 'no clang here'; exit 77; }; \
	for each in $(foreach n,$(fuzz_names),$n:$(call seeds_of,$n)); do \
		seeds=$${each#*:}; each=$${each%%:*}; \
		work=$(O)/tests/fuzz/$$each.work; mkdir -p $$work/found; \
		$(MAKE) -s --no-print-directory $(O)/tests/fuzz/$$each-fuzz || exit 1; \
		$(O)/tests/fuzz/$$each-fuzz -max_total_time=$(FUZZ_SECONDS) -max_len=8192 -timeout=10 \
			-rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix=$$work/ \
			$$work/found $$seeds 2>$$work/log; \
		status=$$?; tail -n 12 $$work/log; [ $$status -eq 0 ] || exit $$status; \
	done

.PHONY: fuzz-replay check-fuzz
.SECONDARY:
