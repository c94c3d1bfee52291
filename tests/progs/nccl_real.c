/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_real.c LIBRARY - asks the real NCCL for its version, an id and a communicator
 *
 * Prints what each call returns: without a driver there is no communicator.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct id {
	char bytes[128];
};

int main(int argc, char **argv)
{
	void *nccl = dlopen(argc > 1 ? argv[1] : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL), *comm = NULL;
	int (*get_version)(int *version), (*get_id)(struct id *id);
	int (*init)(void **comm, int n, struct id id, int rank);
	int (*init_all)(void **comm, int n, const int *devices);
	int version = 0, device = 0;
	struct id id;

	if (!nccl) {
		printf("%s\n", dlerror());
		return 1;
	}
	*(void **)&get_version = dlsym(nccl, "ncclGetVersion");
	*(void **)&get_id = dlsym(nccl, "ncclGetUniqueId");
	*(void **)&init = dlsym(nccl, "ncclCommInitRank");
	*(void **)&init_all = dlsym(nccl, "ncclCommInitAll");
	printf("ncclGetVersion %d", get_version(&version));
	printf(": %d\n", version);
	memset(&id, 0, sizeof(id));
	printf("ncclGetUniqueId %d\n", get_id(&id));
	printf("ncclCommInitRank %d\n", init(&comm, 1, id, 0));
	printf("ncclCommInitAll %d\n", init_all(&comm, 1, &device));
	return 0;
}
