# SPDX-License-Identifier: Apache-2.0
# tests.mk - the tests. Each unit test tests/unit/X.c is one Criterion program, each flow
# test a script. T=pattern takes only those whose name contains it.

T ?=
unit_src  := $(sort $(wildcard tests/unit/*.c))
unit_bin  := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(unit_src))
flow_all  := $(sort $(wildcard tests/flow/[0-9]*.sh))
flow_long := $(shell grep -l '^\# long' $(flow_all) /dev/null)
flow_test := $(filter-out $(flow_long),$(flow_all))
test_log  := $(O)/tests/log

# The interpreter of the tests: the one that setup made, else PYTHON.
test_python = $(or $(TEST_PYTHON),$(wildcard $(CURDIR)/build/venv/bin/python),$(PYTHON))
test_env = TOP='$(CURDIR)' O='$(abspath $(O))' LIB='$(abspath $(lib))' \
	MERGE='$(abspath $(merge))' PYTHON='$(test_python)' CC='$(CC)' \
	FAKES='$(abspath $(O))/tests/fakes'
run_tests = $(test_env) $(PYTHON) scripts/run-tests -j 2 --log $(test_log)

$(unit_bin:=.o): | $(O)/.headers-check

# A unit test may use everything below preload, and the merge without its main.
$(O)/tests/unit/%: $(O)/tests/unit/%.o $(runtime_obj) $(merge_obj) $(read_obj)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) $(tp_ldflags) $(LDFLAGS) -o $@ $^ $(zstd_a) -lcriterion -ldeflate -liberty -ldw -lelf -lz -ldl -lm

# What flow tests read trace files with.
tptdump := $(O)/tests/progs/tptdump
$(tptdump): $(O)/tests/progs/tptdump.o $(shared_obj)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) $(tp_ldflags) $(LDFLAGS) -o $@ $^ $(zstd_a) -lm

# Traces of many ranks, without a training.
gen_traces := $(O)/tests/bench/gen_traces
# What the symboliser makes of addresses, for tests and benchmarks that compare it.
places := $(O)/tests/progs/places
$(places): $(O)/tests/progs/places.o $(merge_obj) $(shared_obj)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) $(tp_ldflags) $(LDFLAGS) -o $@ $^ $(zstd_a) -ldeflate -liberty -ldw -lelf -lz -lm

# A test that calls make sees a clean environment: what matters is handed on by name.
sub_make = $(MAKE) -s --no-print-directory CC=$(CC) PYTHON=$(PYTHON) WERROR=1

# Tests that look at the sources, not at a run: an exit status each.
source_checks := layers functions format headers exports man words scripts clang aarch64
source_items   = $(foreach c,$(source_checks),'source-$(c)=$(sub_make) O=$(O) check-$(c)')
named          = $(if $(T),$(foreach t,$(1),$(if $(findstring $(T),$(notdir $t)),$t)),$(1))
unit_items     = $(call named,$(unit_bin))
# A sanitizer's library cannot be preloaded into an interpreter built without it.
flow_items     = $(if $(SAN),,$(call named,$(flow_test)))
flow_long_items = $(if $(SAN),,$(call named,$(flow_all)))

## check: sets up what it needs, then every test that needs no GPU (T=part of a name)
check:
	$(Q)scripts/setup --level check $(setup_python)
	$(Q)$(MAKE) --no-print-directory check-run

# A make of its own: which tests there are, and the interpreter, are read after set-up.
## check-run: the tests of check with what is here: nothing is installed
check-run: export WERROR := 1
check-run:
	$(Q)$(MAKE) --no-print-directory all unit-programs $(tptdump) $(places) $(gen_traces) fakes
	$(Q)$(run_tests) $(source_items) $(unit_items) $(flow_items)

## check-unit: the unit tests (T=part of a name)
check-unit: unit-programs fakes
	$(Q)$(run_tests) $(unit_items)

## check-flow: real trainings under the preload, merged and compared (T=part of a name)
check-flow: all $(tptdump) $(places) $(gen_traces) fakes
	$(Q)$(run_tests) $(flow_long_items)

# What NVIDIA's headers of each version say of CUPTI's records: tests/unit/cupti_layout.c.
cupti_offsets := $(patsubst %,$(O)/tests/cupti/%.txt,current $(notdir $(wildcard build/cupti/*)))
$(O)/tests/cupti/%.txt: tests/progs/cupti_offsets.py
	@mkdir -p $(@D)
	@$(if $(Q),echo "  GEN $@")
	$(Q)$(PYTHON) $< $(CC) $@ $(wildcard build/cupti/$*/include) $(CUDA_INCLUDE)

unit-programs: $(unit_bin) $(cupti_offsets)

## check-long: the slow ones too: kills, fuzzing, sanitizer builds, browsers
check-long: export WERROR := 1
check-long:
	$(Q)$(MAKE) --no-print-directory all unit-programs $(tptdump) $(places) $(gen_traces) fakes
	$(Q)LONG=1 $(run_tests) $(source_items) $(unit_items) $(flow_long_items) \
		'debug-unit=$(sub_make) O=$(O)/debug DEBUG=1 check-unit' \
		'address-unit=$(sub_make) O=$(O)/address SAN=address,undefined check-unit' \
		'address-stress=$(sub_make) O=$(O)/address SAN=address,undefined check-stress' \
		'thread-stress=$(sub_make) O=$(O)/thread SAN=thread check-stress' \
		'fuzz=$(sub_make) O=$(O)/fuzz check-fuzz FUZZ_WHOLE_SECONDS=360'

## check-versions: other versions of torch against their own profiler (VERSIONS="2.4.1 ...", SPACE=FOLDER; GBs)
check-versions: all $(tptdump) fakes
	$(Q)VERSIONS='$(VERSIONS)' SPACE='$(SPACE)' TESTS='$(TESTS)' PYTHON='$(PYTHON)' CC='$(CC)' \
		scripts/check-versions
.PHONY: check-versions

## check-planted: trainings with one known problem, and healthy ones: what the first advice says (T=part of a name)
check-planted: all
	$(Q)LIB='$(abspath $(lib))' MERGE='$(abspath $(merge))' PYTHON='$(PYTHON)' \
		$(PYTHON) tests/planted/score.py $(T)
.PHONY: check-planted

# Stress tests are plain programs: Criterion does not run under the thread sanitizer.
stress_bin := $(patsubst tests/stress/%.c,$(O)/tests/stress/%,$(sort $(wildcard tests/stress/*.c)))
$(O)/tests/stress/%: $(O)/tests/stress/%.o $(runtime_obj) $(merge_obj)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) $(tp_ldflags) $(LDFLAGS) -o $@ $^ $(zstd_a) -ldeflate -liberty -ldw -lelf -lz -ldl -lm

## check-stress: many threads on the ring, forks; meant for SAN=thread and SAN=address
check-stress: $(stress_bin) fakes
	$(Q)$(run_tests) $(foreach t,$(stress_bin),'stress-$(notdir $t)=$t')

.PHONY: check check-run check-unit check-flow check-long check-stress unit-programs

# Benchmarks: programs of their own, run by scripts/bench in its order.
bench_bin := $(patsubst tests/bench/%.c,$(O)/tests/bench/%,$(sort $(wildcard tests/bench/*.c)))
$(O)/tests/bench/%: $(O)/tests/bench/%.o $(runtime_obj) $(merge_obj)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) $(tp_ldflags) $(LDFLAGS) -o $@ $^ $(zstd_a) -ldeflate -liberty -ldw -lelf -lz -ldl -lm

# The library with handles that turn parts of it on and off.
torch_driver := $(O)/tests/progs/torch_driver.so
torch_driver_obj := $(addprefix $(O)/tests/progs/,torch_driver.o torch_driver_cold.o)
$(torch_driver): $(torch_driver_obj) $(preload_obj) $(runtime_obj) preload/versions.map
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) $(tp_ldflags) $(LDFLAGS) -shared -Wl,--version-script=preload/versions.map \
		-Wl,--exclude-libs,ALL -o $@ $(torch_driver_obj) $(preload_obj) $(runtime_obj) $(zstd_a) -ldl -lm

## bench: what everything costs, with the floors measured in the same run (T=part of a name)
bench: all $(bench_bin) fakes $(tptdump) $(places) $(torch_driver)
	$(Q)$(test_env) NOP='$(abspath $(nop))' DRIVER='$(abspath $(torch_driver))' T='$(T)' scripts/bench

.PHONY: bench

include tests/fuzz/fuzz.mk
include tests/fakes/fakes.mk
include tests/gpu/gpu.mk

# Unit tests that load the stand-ins.
$(O)/tests/unit/nvml: | $(fakes)
