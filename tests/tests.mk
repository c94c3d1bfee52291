# Targets of the tests. Each unit test tests/unit/X.c is one Criterion program.

unit_bin := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(sort $(wildcard tests/unit/*.c)))

# A unit test may use everything below preload, and the merge without its main.
$(O)/tests/unit/%: $(O)/tests/unit/%.o $(runtime_obj) $(merge_obj)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) $(tp_ldflags) $(LDFLAGS) -o $@ $^ $(zstd_a) -lcriterion -ldeflate -ldl -lm

## check-unit: the unit tests (Criterion)
check-unit: $(unit_bin)
	@fail=0; for t in $(unit_bin); do $$t --quiet=0 || fail=1; done; exit $$fail

.PHONY: check-unit
