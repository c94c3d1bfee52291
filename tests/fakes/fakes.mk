# SPDX-License-Identifier: Apache-2.0
# fakes.mk - a GPU that is not there: stand-ins for libcuda, libcudart, libcupti, libnvidia-ml

cuda_header  = $(firstword $(wildcard $(addsuffix /$(1),$(CUDA_INCLUDE))))
fakes_dir    := $(O)/tests/fakes
fake_headers := $(call cuda_header,cupti.h)
fake_flags   := -I$(fakes_dir)

# folder:soname:release
fake_cuptis := .:libcupti.so.13:1300 11.8:libcupti.so.11.8:1108 12.0:libcupti.so.12:1200 \
	12.4:libcupti.so.12:1204 12.8:libcupti.so.12:1208 13.0:libcupti.so.13:1300 \
	future:libcupti.so.13:9999
fake_field = $(word $(2),$(subst :, ,$(1)))
fake_cupti_lib = $(fakes_dir)/$(patsubst ./%,%,$(call fake_field,$(1),1)/$(call fake_field,$(1),2))

fakes := $(if $(fake_headers),$(addprefix $(fakes_dir)/,libcuda.so.1 libcudart.so.13 \
	libnvidia-ml.so.1) $(foreach c,$(fake_cuptis),$(call fake_cupti_lib,$c)))

$(fakes_dir)/%.o: tests/fakes/%.c
	@mkdir -p $(@D)
	@$(if $(Q),echo "  CC  $<")
	$(Q)$(CC) $(tp_cppflags) $(CPPFLAGS) $(tp_cflags) $(fake_flags) $(CFLAGS) -c -o $@ $<

# The names of calls, as cuptiGetCallbackName says them.
$(fakes_dir)/runtime_names.inc: $(call cuda_header,cupti_runtime_cbid.h)
$(fakes_dir)/driver_names.inc: $(call cuda_header,cupti_driver_cbid.h)
$(fakes_dir)/runtime_names.inc $(fakes_dir)/driver_names.inc:
	@mkdir -p $(@D)
	$(Q)sed -n 's/^ *CUPTI_[A-Z]*_TRACE_CBID_\(cu[A-Za-z0-9_]*\|INVALID\) *= \([0-9]*\),.*/[\2] = "\1",/p' \
		$< > $@
$(fakes_dir)/result_names.inc: $(call cuda_header,cupti_result.h)
	@mkdir -p $(@D)
	$(Q)sed -n 's/^ *\(CUPTI_[A-Z_0-9]*\) *= \([0-9]*\),.*/[\2] = "\1",/p' $< > $@
$(fakes_dir)/cuda_call.o: $(fakes_dir)/runtime_names.inc $(fakes_dir)/driver_names.inc

link_fake = $(CC) -shared $(tp_ldflags) $(LDFLAGS) -Wl,-soname,$(@F) $(if $(SAN),,-Wl,-z,defs) -o $@

$(fakes_dir)/libcuda.so.1: $(patsubst %,$(fakes_dir)/%.o,cuda_call cuda_device cuda_driver \
		cuda_memory cuda_work faults)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(link_fake) $^ -ldl
	$(Q)ln -sf $(@F) $(@D)/libcuda.so

# Its names have its own name as their version, as in the real one.
$(fakes_dir)/libcudart.so.13: $(fakes_dir)/cudart.o $(fakes_dir)/cudart_memory.o
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(link_fake) -Wl,--default-symver -Wl,-rpath,'$$ORIGIN' $^ -ldl
	$(Q)ln -sf $(@F) $(@D)/libcudart.so

$(fakes_dir)/libnvidia-ml.so.1: $(fakes_dir)/nvml.o
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(link_fake) -Wl,-rpath,'$$ORIGIN' $^ -ldl

fake_cupti_src := cupti_calls cupti_callbacks cupti_buffers cupti_records cupti_names faults
define fake_cupti_rule
$(fakes_dir)/cupti-$(call fake_field,$(1),3)/%.o: tests/fakes/%.c
	@mkdir -p $$(@D)
	@$$(if $$(Q),echo "  CC  $$< ($(call fake_field,$(1),3))")
	$$(Q)$$(CC) $$(tp_cppflags) $$(CPPFLAGS) $$(tp_cflags) $$(fake_flags) \
		-DFAKE_RELEASE=$(call fake_field,$(1),3) $$(CFLAGS) -c -o $$@ $$<
endef
$(foreach c,$(filter-out .:%,$(fake_cuptis)),$(eval $(call fake_cupti_rule,$c)))
define fake_cupti_names
$(fakes_dir)/cupti-$(call fake_field,$(1),3)/cupti_calls.o: $(addprefix $(fakes_dir)/,runtime_names.inc \
	driver_names.inc result_names.inc)
endef
$(foreach c,$(filter-out .:%,$(fake_cuptis)),$(eval $(call fake_cupti_names,$c)))
define fake_cupti_link
$(call fake_cupti_lib,$(1)): $(patsubst %,$(fakes_dir)/cupti-$(call fake_field,$(1),3)/%.o,$(fake_cupti_src))
	@mkdir -p $$(@D)
	@$$(if $$(Q),echo "  LD  $$@")
	$$(Q)$$(link_fake) -Wl,-rpath,'$$$$ORIGIN:$$$$ORIGIN/..' $$^ -ldl
	$$(Q)ln -sf $$(@F) $$(@D)/libcupti.so
endef
$(foreach c,$(fake_cuptis),$(eval $(call fake_cupti_link,$c)))

# Needs nothing of NVIDIA's.
fake_nccl := $(fakes_dir)/libnccl.so.2
$(fake_nccl): $(patsubst %,$(fakes_dir)/%.o,nccl nccl_tell nccl_proxy)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(link_fake) $^ -ldl -pthread

# Programs that use them. LD_LIBRARY_PATH comes before where they were linked.
victims := $(if $(fake_headers),$(addprefix $(O)/tests/progs/,replay))
link_victim = $(CC) $(tp_ldflags) $(LDFLAGS) -Wl,--enable-new-dtags,-rpath,'$$ORIGIN/../fakes' -o $@
nvtx_include := build/nvtx
replay_flags := $(if $(wildcard $(nvtx_include)/nvtx3/nvToolsExt.h),-isystem $(nvtx_include) -DWITH_NVTX)

$(O)/tests/progs/replay%.o: tests/progs/replay%.c
	@mkdir -p $(@D)
	@$(if $(Q),echo "  CC  $<")
	$(Q)$(CC) $(tp_cppflags) $(CPPFLAGS) $(tp_cflags) $(replay_flags) $(CFLAGS) -c -o $@ $<
$(O)/tests/progs/replay: $(patsubst %.c,$(O)/%.o,$(sort $(wildcard tests/progs/replay*.c))) \
		$(fakes_dir)/libcuda.so.1 $(fakes_dir)/libcudart.so.13
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(link_victim) $(filter %.o,$^) -L$(fakes_dir) -l:libcuda.so.1 -ldl

$(O)/tests/progs/nccl_user: $(O)/tests/progs/nccl_user.o $(fake_nccl)
	@$(if $(Q),echo "  LD  $@")
	$(Q)$(link_victim) $< -L$(fakes_dir) -l:libnccl.so.2 -ldl -pthread

## fakes: the stand-ins for CUDA, CUPTI, NVML (tests/fakes/fake.h) and NCCL (nccl_fake.h)
fakes: $(fakes) $(victims) $(fake_nccl) $(O)/tests/progs/nccl_user
.PHONY: fakes
