/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_c10d.c - process groups, seen where torch's own code calls them
 *
 * libtorch_cpu calls these functions of its own through the PLT or through tables that the loader
 * fills, so the preloaded definitions come first. Every collective asks its group for the backend;
 * sends and receives of gloo have their peer as an argument, other collectives of gloo go to a
 * thread of its own. Each forwards to the real one.
 *
 * What C++ returns in memory goes to a pointer that is the first argument on x86-64. On aarch64
 * it is in a register that C cannot keep: there groups are not told apart.
 */
#include <stdint.h>

#include "preload/export.h"
#include "preload/real_torch.h"
#include "runtime/probe/entry/entry.h"
#include "runtime/probe/torch/torch_group.h"

#define WORK                                                                               \
	"N3c1013intrusive_ptrINS0_9AsyncWorkENS1_6detail34intrusive_target_default_null_type"  \
	"IS3_EEEE"
#define ENQUEUE "_ZN4c10d16ProcessGroupGloo7enqueueE" WORK
#define EXECUTE                                                                            \
	"_ZN4c10d16ProcessGroupGloo9AsyncWork7executeERKN3c1013intrusive_ptrIS1_NS2_6detail"   \
	"34intrusive_target_default_null_typeIS1_EEEE"
#define STORE                                                                              \
	"N3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_typeIS3_"   \
	"EEEE"
#define MADE "_ZN4c10d12ProcessGroupC1E" STORE "ii"
#define STORE_MADE                                                                         \
	"_ZN4c10d8TCPStoreC1ENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKNS_"        \
	"15TCPStoreOptionsE"
#define STORE_MADE_OLD "_ZN4c10d8TCPStoreC1ESsRKNS_15TCPStoreOptionsE"	/* the string of GCC before 5 */
#define GET_BACKEND "_ZN4c10d12ProcessGroup10getBackendEN3c1010DeviceTypeE"
#define SEND "_ZN4c10d16ProcessGroupGloo4sendERSt6vectorIN2at6TensorESaIS3_EEii"
#define RECV "_ZN4c10d16ProcessGroupGloo4recvERSt6vectorIN2at6TensorESaIS3_EEii"
#define RECV_ANY "_ZN4c10d16ProcessGroupGloo13recvAnysourceERSt6vectorIN2at6TensorESaIS3_EEi"

/* An intrusive_ptr<AsyncWork>, by value or reference: the address of one. */
typedef void (*enqueue_fn)(void *backend, void **work);
typedef void (*execute_fn)(void **work);
typedef void (*made_fn)(void *group, void *store, int rank, int size);
typedef void (*store_made_fn)(void *store, void *host, const void *options);

void tp_hook_enqueue(void *backend, void **work) __asm__(ENQUEUE);
void tp_hook_execute(void **work) __asm__(EXECUTE);
void tp_hook_group_made(void *group, void *store, int rank, int size) __asm__(MADE);
void tp_hook_store_made(void *store, void *host, const void *options) __asm__(STORE_MADE);
void tp_hook_store_made_old(void *store, void *host, const void *options) __asm__(STORE_MADE_OLD);

TP_EXPORT void tp_hook_group_made(void *group, void *store, int rank, int size)
{
	static void *cached;

	((made_fn)tp_real_torch(&cached, TP_LIBTORCH_CPU, MADE))(group, store, rank, size);
	tp_torch_group_made(group, rank, size);
	tp_entry_joins();
}

/* Waits inside until all ranks have come to it, or for the one that serves it. */
TP_EXPORT void tp_hook_store_made(void *store, void *host, const void *options)
{
	static void *cached;

	tp_entry_joins();
	((store_made_fn)tp_real_torch(&cached, TP_LIBTORCH_CPU, STORE_MADE))(store, host, options);
}

TP_EXPORT void tp_hook_store_made_old(void *store, void *host, const void *options)
{
	static void *cached;

	tp_entry_joins();
	((store_made_fn)tp_real_torch(&cached, TP_LIBTORCH_CPU, STORE_MADE_OLD))(store, host, options);
}

TP_EXPORT void tp_hook_enqueue(void *backend, void **work)
{
	static void *cached;

	tp_torch_group_hand_over(*work);
	((enqueue_fn)tp_real_torch(&cached, TP_LIBTORCH_CPU, ENQUEUE))(backend, work);
}

TP_EXPORT void tp_hook_execute(void **work)
{
	static void *cached;

	tp_torch_group_take_over(*work);
	((execute_fn)tp_real_torch(&cached, TP_LIBTORCH_CPU, EXECUTE))(work);
}

#if defined(__x86_64__)

typedef void *(*get_backend_fn)(void **ret, void *group, int8_t device);
typedef void *(*peer_fn)(void **ret, void *backend, void *tensors, int peer, int tag);
typedef void *(*recv_any_fn)(void **ret, void *backend, void *tensors, int tag);

void *tp_hook_get_backend(void **ret, void *group, int8_t device) __asm__(GET_BACKEND);
void *tp_hook_send(void **ret, void *backend, void *tensors, int peer, int tag) __asm__(SEND);
void *tp_hook_recv(void **ret, void *backend, void *tensors, int peer, int tag) __asm__(RECV);
void *tp_hook_recv_any(void **ret, void *backend, void *tensors, int tag) __asm__(RECV_ANY);

TP_EXPORT void *tp_hook_get_backend(void **ret, void *group, int8_t device)
{
	static void *cached;

	tp_torch_group_enter(group);
	return ((get_backend_fn)tp_real_torch(&cached, TP_LIBTORCH_CPU, GET_BACKEND))(ret, group, device);
}

TP_EXPORT void *tp_hook_send(void **ret, void *backend, void *tensors, int peer, int tag)
{
	static void *cached;

	tp_torch_group_peer(peer, tag);
	return ((peer_fn)tp_real_torch(&cached, TP_LIBTORCH_CPU, SEND))(ret, backend, tensors, peer, tag);
}

TP_EXPORT void *tp_hook_recv(void **ret, void *backend, void *tensors, int peer, int tag)
{
	static void *cached;

	tp_torch_group_peer(peer, tag);
	return ((peer_fn)tp_real_torch(&cached, TP_LIBTORCH_CPU, RECV))(ret, backend, tensors, peer, tag);
}

TP_EXPORT void *tp_hook_recv_any(void **ret, void *backend, void *tensors, int tag)
{
	static void *cached;

	tp_torch_group_peer(-1, tag);
	return ((recv_any_fn)tp_real_torch(&cached, TP_LIBTORCH_CPU, RECV_ANY))(ret, backend, tensors, tag);
}

#endif
