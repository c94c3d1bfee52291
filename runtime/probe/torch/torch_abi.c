/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_abi.c - finds torch's libraries and the symbols we call
 *
 * Torch's libraries are opened RTLD_LOCAL by Python, so symbols are looked up in their own
 * handles, got with RTLD_NOLOAD: nothing is ever mapped by us. File names differ between
 * builds (libtorch_cpu.so, libtorch_cpu.so.1.13): the loader's list is searched by prefix.
 */
#include "runtime/probe/torch/torch_abi.h"

#include <dlfcn.h>

#include "runtime/base/loader.h"

void *tp_torch_library(const char *stem)
{
	char path[512];

	/* The handle is not taken while the loader's list is locked. */
	return tp_loader_find(stem, path) ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY) : NULL;
}

struct symbol {
	size_t at;		/* in struct tp_torch_abi */
	bool is_needed;
	const char *name;
};

#define SYMBOL(field, needed, text) { offsetof(struct tp_torch_abi, field), needed, text }

static const struct symbol cpu_symbols[] = {
	SYMBOL(add, true, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"),
	SYMBOL(add_own, false, "_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE"),
	SYMBOL(remove, true, "_ZN2at14removeCallbackEm"),
	SYMBOL(name, true, "_ZNK2at14RecordFunction4nameEv"),
	SYMBOL(overload, false, "_ZNK2at14RecordFunction13overload_nameEv"),
	SYMBOL(thread_id, true, "_ZN2at14RecordFunction15currentThreadIdEv"),
	SYMBOL(construct, true, "_ZN2at14RecordFunctionC1ENS_11RecordScopeE"),
	SYMBOL(destruct, true, "_ZN2at14RecordFunctionD1Ev"),
	SYMBOL(set_async, false, "_ZN2at14RecordFunction9_setAsyncEv"),
	SYMBOL(before_text, false, "_ZN2at14RecordFunction6beforeEPKcl"),
	SYMBOL(before, false,
	       "_ZN2at14RecordFunction6beforeESt7variantIJSt17basic_string_viewIcSt11char_"
	       "traitsIcEESt17reference_wrapperIKN3c1014FunctionSchemaEEEEl"),
	SYMBOL(empty, false,
	       "_ZN2at4_ops19empty_memory_format4callEN3c108ArrayRefINS2_6SymIntEEESt8optional"
	       "INS2_10ScalarTypeEES6_INS2_6LayoutEES6_INS2_6DeviceEES6_IbES6_INS2_"
	       "12MemoryFormatEE"),
	SYMBOL(alias, false, "_ZN2at4_ops5alias4callERKNS_6TensorE"),
	SYMBOL(group_name, false, "_ZNK4c10d12ProcessGroup12getGroupNameB5cxx11Ev"),
	SYMBOL(group_name_old, false, "_ZNK4c10d12ProcessGroup12getGroupNameEv"),
	SYMBOL(is_profiled, false, "_ZN5torch8profiler4impl15profilerEnabledEv"),
	SYMBOL(has_gradients, false, "_ZN3c108GradMode10is_enabledEv"),
	SYMBOL(group_desc, false, "_ZNK4c10d12ProcessGroup12getGroupDescB5cxx11Ev"),
};

bool tp_torch_abi_find(struct tp_torch_abi *abi, const char **missing)
{
	memset(abi, 0, sizeof(*abi));
	*missing = NULL;
	abi->cpu = tp_torch_library("libtorch_cpu.so");
	if (!abi->cpu)
		return false;
	abi->c10 = tp_torch_library("libc10.so");

	for (size_t i = 0; i < sizeof(cpu_symbols) / sizeof(cpu_symbols[0]); i++) {
		const struct symbol *symbol = &cpu_symbols[i];
		void *found = dlsym(abi->cpu, symbol->name);

		memcpy((char *)abi + symbol->at, &found, sizeof(found));
		if (!found && symbol->is_needed && !*missing)
			*missing = symbol->name;
	}
	if (!abi->before && !abi->before_text && !*missing)
		*missing = "at::RecordFunction::before";
	if (abi->c10)
		abi->undefined = dlsym(abi->c10, "_ZN3c1019UndefinedTensorImpl10_singletonE");
	return true;
}
