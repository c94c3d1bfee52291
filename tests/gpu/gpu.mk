# SPDX-License-Identifier: Apache-2.0
# gpu.mk - what only a machine with a GPU can show. `make check-gpu` elsewhere says so and skips.

gpu_bin := $(O)/tests/gpu/manners $(O)/tests/gpu/injected.so

$(O)/tests/gpu/%.o: | cuda-headers
$(O)/tests/gpu/manners: $(O)/tests/gpu/manners.o $(O)/tests/gpu/manners_points.o $(O)/tests/gpu/manners_costs.o
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) $(tp_ldflags) $(LDFLAGS) -o $@ $^ -ldl

$(O)/tests/gpu/injected.so: $(O)/tests/gpu/injected.o
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(CC) -shared $(tp_ldflags) $(LDFLAGS) -o $@ $^ -ldl

## check-gpu: the same flows on a real device, the stand-ins compared with it, overhead, recordings
check-gpu: all $(gpu_bin) fakes $(tptdump)
	$(Q)$(test_env) tests/gpu/check || [ $$? -eq 77 ]

.PHONY: check-gpu
