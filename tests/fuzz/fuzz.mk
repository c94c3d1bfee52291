# fuzz.mk - damaged input for the readers: the corpus replayed, then libFuzzer for a minute

FUZZ_SECONDS ?= 60
fuzz_src    := tests/fuzz/reader.c $(wildcard runtime/base/*.c runtime/trace/*.c)
fuzz_corpus := tests/fuzz/corpus
fuzz_cflags  = $(tp_cppflags) $(CPPFLAGS) -std=gnu11 -g -O1 -fno-omit-frame-pointer \
	-fno-sanitize-recover=undefined

$(O)/tests/fuzz/replay: $(fuzz_src) $(headers)
	@mkdir -p $(@D)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) $(fuzz_cflags) -fsanitize=address,undefined -DTP_FUZZ_MAIN -o $@ $(fuzz_src) $(zstd_a) -lm

$(O)/tests/fuzz/reader: $(fuzz_src) $(headers)
	@mkdir -p $(@D)
	@$(if $(Q),echo "  LD  $@")
	$(Q)clang $(fuzz_cflags) -fsanitize=fuzzer,address,undefined -o $@ $(fuzz_src) $(zstd_a) -lm

## fuzz-replay: the corpus of damaged traces through the reader, under sanitizers
fuzz-replay: $(O)/tests/fuzz/replay
	$(Q)$< $(fuzz_corpus)/*

# New inputs and crashes stay below $(O); a crash that was mended joins the corpus by hand.
## check-fuzz: the same, then new inputs for FUZZ_SECONDS (60; needs clang)
check-fuzz: fuzz-replay
	$(Q)command -v clang >/dev/null || { echo 'no clang here'; exit 77; }; \
	$(MAKE) -s --no-print-directory $(O)/tests/fuzz/reader && mkdir -p $(O)/tests/fuzz/found && \
	$(O)/tests/fuzz/reader -max_total_time=$(FUZZ_SECONDS) -max_len=8192 -timeout=10 -rss_limit_mb=1024 \
		-print_final_stats=1 -artifact_prefix=$(O)/tests/fuzz/ \
		$(O)/tests/fuzz/found $(fuzz_corpus) 2>$(O)/tests/fuzz/log; \
	status=$$?; tail -n 12 $(O)/tests/fuzz/log; exit $$status

.PHONY: fuzz-replay check-fuzz
