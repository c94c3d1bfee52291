/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainprof_trace.h - PUBLIC: the on-disk structures of a rank trace (*.tpt)
 *
 * trainprof-trace(5) is the specification; this header repeats its offsets and checks them.
 * Everything is little-endian. No dependency but <stdint.h>; valid C11 and C++11.
 *
 * A file is one struct tp_file_head, then blocks. A block is one struct tp_block_head and
 * stored_bytes of payload; each can be read alone. The last block of a whole file is of type
 * TP_BLOCK_END; a file without it was cut (the process died, the disk was full) and is read
 * up to its last whole block.
 */
#ifndef TRAINPROF_TRACE_H
#define TRAINPROF_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define TP_TRACE_ASSERT(c, m) static_assert(c, m)
#else
#define TP_TRACE_ASSERT(c, m) _Static_assert(c, m)
#endif

/* "TPT1\r\n\x1a\n": catches text-mode transfers, is no text, and is not JSON. */
#define TP_FILE_MAGIC 0x0a1a0a0d31545054ull
#define TP_BLOCK_MAGIC 0x4b4c4254u /* "TBLK" */

enum {
	TP_TRACE_MAJOR = 1, /* a reader refuses another one */
	TP_TRACE_MINOR = 4, /* a reader accepts newer ones and skips what it does not know */
};

enum tp_rec_kind {
	TP_REC_NONE = 0,
#define _(id, NAME, text, is_span, since) TP_REC_##NAME = id,
#include "records.def"
#undef _
	TP_REC_N
};

/* Bits of tp_rec.flags */
enum {
	TP_F_ASYNC = 1,	   /* span: began on another thread, may cross others; arg names that thread */
	TP_F_EARLY = 2,	   /* span: began before the window did */
	TP_F_OPEN = 4,	   /* span: had not ended when its window (or process) did; len is up to then */
	TP_F_DOUBLE = 8,   /* COUNTER: arg is an IEEE double, else an int64_t */
	TP_F_CLOCK = 16,   /* STEP: bounded by a clock, not by the program */
	TP_F_SHARED = 32,  /* ALLOC, FREE: reported by the framework, memory shared or mapped from a file */
	TP_F_BACKWARD = 64,/* OP: an autograd node (scope BACKWARD_FUNCTION) */
	TP_F_SKIPPED = 128,/* STEP: the optimizer did not run (gradient scaler found inf) */
	TP_F_SENT = 1,	   /* EXCHANGE: see TP_CLOCK_PEER */
	TP_F_DRIVER = 1,   /* CALL: of the driver API, else of the runtime API */
	TP_F_AFTER = 16,   /* device spans, COLL, XFER: belongs to the window that had ended last when it was
			    * recorded, though it ended later: its launch lies in that window */
	TP_F_MOVED = 1,	   /* HEAPALLOC, HEAPFREE: one half of a realloc; the thread's next or last
			    * event of these kinds is the other half. MAP, UNMAP: of an mremap */
	TP_F_SAMPLED = 2,  /* HEAPALLOC, HEAPFREE: chosen by bytes; link's stack counts for more than
			    * this block, see trainprof-trace(5), "Host memory" */
	TP_F_ENQUEUED = 8, /* COLL: only when it was enqueued is known, not when it ended */
	TP_F_REPLAY = 32,  /* COLL: enqueued by a CUDA graph */
	TP_F_PARTIAL = 8,  /* device spans: times are the profiler's guess: the device gave none */
};

/*
 * One event, 32 bytes, the same in the ring and (after decoding) in the reader.
 *
 *	        OP, RANGE            STEP                 ALLOC, FREE        TOTALS           COUNTER, MARK
 * time   begin, ticks         begin, ticks         ticks              ticks            ticks
 * len    duration, ticks      duration, ticks      bytes; FREE: 0 =   bytes allocated  0
 *                                                  size not known
 * name   string OP or TEXT    string TEXT          0                  0                string COUNTER or TEXT
 * link   sequence number,     number of the step,  device             device           instance (core, ...)
 *        low 32 bits, or      from 0, whole run
 *        TP_NO_SEQ
 * arg    TP_ARG_* below       epoch << 32 | step   address            bytes reserved   value
 *                             in the epoch
 */
struct tp_rec {
	uint64_t time;
	uint32_t len_lo;
	uint16_t len_hi;
	uint8_t kind;	/* enum tp_rec_kind */
	uint8_t flags;	/* TP_F_* */
	uint32_t name;	/* string id, 0: none */
	uint32_t link;
	uint64_t arg;
};
TP_TRACE_ASSERT(sizeof(struct tp_rec) == 32, "a record is 32 bytes");

/*
 * Since minor 1, CUDA. CALL and OVERHEAD happened on the thread whose kernel tid is in arg, not
 * on the one whose slot the event carries. KERNEL, MEMCPY, MEMSET, GRAPH and SYNC happened on
 * a device: `name` or `arg` gives a string that begins with struct tp_device_place.
 *
 *	        CALL                 KERNEL               MEMCPY, MEMSET       SYNC
 * time,len   begin, duration      begin, duration      begin, duration      begin, duration
 * name       string TEXT          string TEXT, as      string TRANSFER      string SYNC
 *                                 CUPTI had it
 * link       correlation id       correlation id       correlation id       correlation id
 * arg        tid | returned << 32 string LAUNCH        bytes                event id | correlation of its
 *                                                                           record << 32
 *
 *	        GRAPH                OVERHEAD             DEVALLOC, DEVFREE
 * time,len   begin, duration      begin, duration      ticks; len: bytes, 0: not known
 * name       string LAUNCH        string TEXT          string DEVMEM
 * link       correlation id       0                    correlation id, 0: none
 * arg        graph id             tid, 0: none         address (or handle)
 */
#define TP_ARG_CALL(tid, returned) ((uint64_t)(uint32_t)(tid) | (uint64_t)(uint32_t)(returned) << 32)
#define TP_ARG_TID(arg) ((uint32_t)(arg))
#define TP_ARG_RETURNED(arg) ((uint32_t)((arg) >> 32))

/*
 * Since minor 2, host memory and call stacks. Addresses and bytes are the program's own.
 *
 *	        HEAPALLOC            HEAPFREE             MAP                  UNMAP
 * time       when the call        before the call      when the call        before the call
 *            returned                                  returned
 * len        bytes asked for      0                    bytes                bytes
 * name       0                    0                    string MAPPING       0
 * link       stack, 0: none       0                    stack, 0: none       stack, 0: none
 * arg        address              address              address              address
 *
 * A FRAME makes the stack `link`: the stack it names in len (0: it is the outermost) and one
 * frame more inside of it. It stands before all events that use the number, on the same thread.
 * Numbers are those of one file.
 *
 *	        native               PYTHON               JOINED
 * name       0                    string PYFRAME       0
 * arg        address              line, 0: not known   stack of Python frames
 *
 * A JOINED one is two stacks of one moment: of the program in len, of Python in arg. Each run
 * of Python frames up to one with TP_FRAME_ENTRY (inclusive) stands where the interpreter's
 * evaluation function does, innermost first in both.
 */
enum {	/* tp_rec.flags of a FRAME */
	TP_FRAME_PYTHON = 1,
	TP_FRAME_JOINED = 2,
	TP_FRAME_ENTRY = 4,	/* Python: called from native code */
	TP_FRAME_EXACT = 8,	/* native: the address was about to be executed (a signal came), it
				 * is not a return address */
	TP_FRAME_CUT = 16,	/* outermost frame known: what is outside of it could not be read */
};

/*
 * Since minor 3, what NCCL tells of its communicators.
 *
 *	        COLL                        XFER: an operation of its proxy: one peer, one channel,
 *	                                    one direction of a collective
 * time       enqueued                    begin
 * len        to the end of the last      duration
 *            XFER, TP_F_ENQUEUED:
 *            of the enqueueing
 * name       string COLL                 string XFER
 * link       sequence number, low 32     that of its collective
 *            bits, of the communicator
 *            and function, or TP_NO_SEQ
 * arg        TP_ARG_COLL                 TP_ARG_XFER
 *
 * Of a COLL with TP_F_ASYNC the end was seen on other threads than the one that enqueued it.
 */
#define TP_ARG_COLL(bytes, slot) ((uint64_t)(bytes) | (uint64_t)(uint16_t)(slot) << 48)
#define TP_ARG_COLL_BYTES(arg) ((arg) & 0xffffffffffffull)
#define TP_ARG_COLL_SLOT(arg) ((uint16_t)((arg) >> 48)) /* of the thread that enqueued it */

/* 40 bits of bytes, then which parts of 255 of the time of its steps were spent waiting for the
 * own device, for the peer, and in the network; all 0: steps were not seen. */
#define TP_ARG_XFER(bytes, device, peer, network)                                          \
	((uint64_t)(bytes) | (uint64_t)(uint8_t)(device) << 40 |                           \
	 (uint64_t)(uint8_t)(peer) << 48 | (uint64_t)(uint8_t)(network) << 56)
#define TP_ARG_XFER_BYTES(arg) ((arg) & 0xffffffffffull)
#define TP_ARG_XFER_DEVICE(arg) ((uint8_t)((arg) >> 40))
#define TP_ARG_XFER_PEER(arg) ((uint8_t)((arg) >> 48))
#define TP_ARG_XFER_NETWORK(arg) ((uint8_t)((arg) >> 56))

/*
 * Since minor 3, where operators come from. A STACK tells where in the program its thread is,
 * from its time on, until its next one: what its operators have for a stack, those inside of
 * operators included. Before the first one of a file it is 0. With TP_STACK_CALL it is a call of
 * the innermost module of the stack that begins.
 *
 *	        STACK                NNMODULE
 * time       when it was looked   when it was looked at
 *            at
 * name       0                    string NNMODULE
 * link       stack, 0: none       number of the module
 * arg        0                    0
 *
 * A FRAME with both TP_FRAME_PYTHON and TP_FRAME_JOINED is no frame, but says that the frame
 * outside of it is a module's call: arg is its number << 32. Numbers are the process's own, and
 * mean something in one file only.
 */
enum { TP_STACK_CALL = 1 };
#define TP_FRAME_MODULE (TP_FRAME_PYTHON | TP_FRAME_JOINED)
#define TP_ARG_MODULE(number) ((uint64_t)(number) << 32)
#define TP_MODULE_NUMBER(arg) ((uint32_t)((arg) >> 32))

/*
 * Since minor 3, what tensors are for: the optimizer's own, seen once a window at the end of its
 * step. A SCAN's CATEGORY records come before it, from the same thread.
 *
 *	        CATEGORY                      SCAN
 * time       ticks                         begin, ticks
 * len        bytes of the tensor's block   duration, ticks
 * flags      tp_tensor_category            0
 * name       string TEXT, 0: no name       string TEXT: the optimizer's class, 0: not known
 * link       device; 0xffff: not known     CATEGORY records that belong to it
 * arg        address of the block          tensors that could not be read
 */
enum tp_tensor_category {	/* never renumbered */
	TP_TENSOR_UNKNOWN = 0,
	TP_TENSOR_PARAMETER = 1,
	TP_TENSOR_GRADIENT = 2,
	TP_TENSOR_OPTIMIZER = 3,
	TP_TENSOR_BUFFER = 4,
	TP_TENSOR_ACTIVATION = 5,
	TP_TENSOR_INPUT = 6,
	TP_TENSOR_TEMPORARY = 7,
	TP_TENSOR_SHARDED_PARAMETER = 8,	/* a part of it on each rank */
	TP_TENSOR_SHARDED_GRADIENT = 9,
	TP_TENSOR_UNSHARDED_PARAMETER = 10,
	TP_TENSOR_UNSHARDED_GRADIENT = 11,
	TP_TENSOR_ALL_GATHER = 12,		/* buffers of the collectives */
	TP_TENSOR_REDUCE_SCATTER = 13,
	TP_TENSOR_N
};
#define TP_NO_DEVICE 0xffffu

/*
 * Since minor 3. An EXCHANGE is one datagram between this host and another, for the order of
 * times on both: len is ticks from the own time to `time`, arg the other host's time in ns of its
 * CLOCK_MONOTONIC (outside of time namespaces), name a TEXT: TP_CLOCK_PEER and the other's boot
 * id in 32 hex digits. With TP_F_SENT it was sent here, else there; link tells exchanges apart.
 */
#define TP_CLOCK_PEER "clock:"

/*
 * Since minor 4. A SAMPLE tells where in the program a thread was at `time`, seen from outside: its
 * kernel tid is in arg, not that of the slot that the event carries. len is ns since the samples
 * before, link the stack of Python frames.
 */
#define TP_ARG_SAMPLE(tid, waits_in) ((uint64_t)(uint32_t)(tid) | (uint64_t)(uint32_t)(waits_in) << 32)
#define TP_SAMPLE_TID(arg) ((uint32_t)(arg))
/* 0: it ran, or that is not known; else the number of the system call plus one. */
#define TP_SAMPLE_WAITS_IN(arg) ((uint32_t)((arg) >> 32))
/* flags: whether it ran is known; it had the interpreter's lock; it waited for that; it collected Python's
 * garbage. */
enum { TP_SAMPLE_STATE = 1, TP_SAMPLE_HAS_LOCK = 2, TP_SAMPLE_WANTS_LOCK = 4, TP_SAMPLE_COLLECTS = 8 };

#define TP_NO_SEQ 0xffffffffu
#define TP_LEN_MAX 0xffffffffffffull /* 48 bits: at 2 GHz 39 hours; 256 TiB */

static inline uint64_t tp_rec_len(const struct tp_rec *rec)
{
	return (uint64_t)rec->len_hi << 32 | rec->len_lo;
}

static inline void tp_rec_set_len(struct tp_rec *rec, uint64_t len)
{
	if (len > TP_LEN_MAX)
		len = TP_LEN_MAX;
	rec->len_lo = (uint32_t)len;
	rec->len_hi = (uint16_t)(len >> 32);
}

/* arg of OP and RANGE: shapes string id (32 bits, 0: not recorded) | thread (16) | scope (8).
 * thread: for OP torch's own number of the forward thread of an autograd node (0: none);
 * with TP_F_ASYNC the slot of the thread on which the span began. */
#define TP_ARG_OP(shapes, thread, scope)                                                   \
	((uint64_t)(uint32_t)(shapes) | (uint64_t)(uint16_t)(thread) << 32 |               \
	 (uint64_t)(uint8_t)(scope) << 48)
#define TP_ARG_SHAPES(arg) ((uint32_t)(arg))
#define TP_ARG_THREAD(arg) ((uint16_t)((arg) >> 32))
#define TP_ARG_SCOPE(arg) ((uint8_t)((arg) >> 48))

/* The scopes that are made: torch's RecordScope. The program's own ranges are USER, by whichever
 * way they were told. */
enum tp_scope {
	TP_SCOPE_FUNCTION = 0,
	TP_SCOPE_BACKWARD = 1,
	TP_SCOPE_TORCHSCRIPT = 2,
	TP_SCOPE_USER = 7,
};

/* Device of memory records: torch's DeviceType (0 CPU, 1 CUDA, ...) << 8 | index (0xff: none). */
#define TP_DEVICE(type, index) ((uint32_t)(uint8_t)(type) << 8 | (uint8_t)(index))
#define TP_DEVICE_CPU TP_DEVICE(0, 0xff)

/* Kinds of interned strings. Ids are unique in a file whatever the kind. */
enum tp_string_kind {
	TP_STRING_TEXT = 1,    /* UTF-8, as the program gave it: not to be trusted */
	TP_STRING_OP = 2,      /* operator name, NUL, overload name (may be empty) */
	TP_STRING_SHAPES = 3,  /* inputs of an operator: trainprof-trace(5), "Shapes" */
	TP_STRING_COUNTER = 4, /* name, NUL, unit, NUL, group */
	TP_STRING_LAUNCH = 5,  /* since minor 1: struct tp_launch */
	TP_STRING_TRANSFER = 6,/* struct tp_transfer */
	TP_STRING_SYNC = 7,    /* struct tp_sync_what */
	TP_STRING_DEVMEM = 8,  /* struct tp_devmem_what, then the owner's library: a path, or nothing */
	TP_STRING_MODULE = 10, /* since minor 2: struct tp_module, then build id, then its path */
	TP_STRING_MAPPING = 11,/* struct tp_mapping, then the path of the file, or nothing */
	TP_STRING_PYFRAME = 12,/* function's qualified name, NUL, file */
	TP_STRING_COMM = 13,   /* since minor 3: struct tp_communicator, then its name, or nothing */
	TP_STRING_COLL = 17,   /* struct tp_coll, then function, NUL, type of the elements, NUL,
				* algorithm, NUL, protocol: as NCCL calls them, or nothing; NUL,
				* the name of the communicator, or nothing */
	TP_STRING_XFER = 18,   /* struct tp_xfer, then the function, or nothing */
	TP_STRING_NNMODULE = 14,/* qualified name in the outermost module ("" : that one), NUL, class */
	TP_STRING_DEVICE = 9,  /* "key=value\n" lines about one device: trainprof-trace(5), "Devices" */
	TP_STRING_GROUP = 19,  /* since minor 3: a process group; stays in the process */
};

/*
 * The structures in strings LAUNCH to DEVMEM. Later versions may only add members: a reader
 * takes what is there and fills the rest with zero. Ids are CUPTI's.
 */
struct tp_device_place {
	uint32_t device, context, stream;
};
#define TP_NO_STREAM 0xffffffffu

struct tp_launch {
	struct tp_device_place place;
	uint32_t graph;			/* 0: not of a graph */
	uint64_t graph_node;
	uint32_t grid[3], block[3];	/* 0 for GRAPH */
	uint32_t cluster[3];		/* 0: none */
	uint32_t registers;		/* per thread */
	uint32_t shared_static, shared_dynamic; /* bytes per block */
	uint32_t local_per_thread;	/* bytes */
	uint32_t reserved;
};
TP_TRACE_ASSERT(sizeof(struct tp_launch) == 80, "launch");

/* May follow on a tp_launch: what another profiler, whose trace this was made of, has computed. */
struct tp_launch_estimate {
	float blocks, warps;		/* per multiprocessor; 0: not known */
	uint32_t occupancy;		/* estimated achieved, percent plus one; 0: not known */
	uint32_t reserved;
};
TP_TRACE_ASSERT(sizeof(struct tp_launch_estimate) == 16, "launch estimate");

/* Copy and memory kinds are CUPTI's numbers (enum CUpti_ActivityMemcpyKind, ...MemoryKind). */
struct tp_transfer {
	struct tp_device_place place;
	uint32_t graph;
	uint64_t graph_node;
	uint8_t copy_kind;		/* 0: a memset */
	uint8_t from_kind, to_kind;	/* memset: to_kind */
	uint8_t is_async;
	uint32_t from_device, to_device;/* copies between devices; else those of place */
	uint32_t value;			/* memset */
};
TP_TRACE_ASSERT(sizeof(struct tp_transfer) == 40, "transfer");

enum tp_sync_kind {		/* CUPTI's numbers */
	TP_SYNC_EVENT = 1,
	TP_SYNC_STREAM_WAIT = 2,	/* a stream waits for an event */
	TP_SYNC_STREAM = 3,
	TP_SYNC_CONTEXT = 4,
};
struct tp_sync_what {
	struct tp_device_place place;	/* stream TP_NO_STREAM: none */
	uint32_t kind;			/* enum tp_sync_kind */
	uint32_t returned;		/* CUresult, where it is known */
	uint32_t recorded_stream;	/* events: 1 + the stream that it was recorded on; 0: not known */
};
TP_TRACE_ASSERT(sizeof(struct tp_sync_what) == 24, "sync");

enum tp_devmem_kind {
	TP_DEVMEM_DEVICE = 1,	/* cudaMalloc and its like */
	TP_DEVMEM_POOL = 2,	/* stream-ordered: cudaMallocAsync */
	TP_DEVMEM_MANAGED = 3,
	TP_DEVMEM_PINNED = 4,	/* on the host */
	TP_DEVMEM_REGISTERED = 5, /* the program's own host memory, pinned */
	TP_DEVMEM_PHYSICAL = 6,	/* cuMemCreate; address is the handle */
	TP_DEVMEM_MAPPED = 7,	/* cuMemMap of such a one: takes no memory of its own */
	TP_DEVMEM_RESERVED = 8,	/* cuMemAddressReserve: addresses only */
	TP_DEVMEM_ARRAY = 9,
	TP_DEVMEM_IPC = 10,	/* another process's memory, opened here */
	TP_DEVMEM_GRAPH = 11,	/* of memory nodes of a graph */
	TP_DEVMEM_N
};
struct tp_devmem_what {
	uint32_t device;	/* 0xffffffff: not known */
	uint8_t kind;		/* enum tp_devmem_kind */
	uint8_t is_async;
	uint16_t reserved;
	uint64_t pool;		/* handle, 0: the default one or none */
};
TP_TRACE_ASSERT(sizeof(struct tp_devmem_what) == 16, "device memory");

/*
 * Code that was mapped while the trace was taken. Each file that has frames lists all of them.
 * Of two with the same address and `from`, the one whose `to` is not 0 counts.
 */
struct tp_module {
	uint64_t bias;		/* address at run time less address in the file's headers */
	uint64_t begin, end;	/* addresses at run time, of all its segments */
	uint64_t from, to;	/* ticks between which it was there for sure; to 0: to the end */
	uint32_t build_id_bytes;/* 0: it has none */
	uint32_t reserved;
};
TP_TRACE_ASSERT(sizeof(struct tp_module) == 48, "module");

enum tp_mapping_kind {
	TP_MAPPING_ANON = 1,	/* private, of nothing */
	TP_MAPPING_SHARED = 2,	/* shared, of nothing */
	TP_MAPPING_SHM = 3,	/* of /dev/shm, another tmpfs, memfd */
	TP_MAPPING_FILE = 4,
	TP_MAPPING_RESERVED = 5,/* PROT_NONE: addresses only */
	TP_MAPPING_N
};
struct tp_mapping {
	uint8_t kind;		/* enum tp_mapping_kind */
	uint8_t is_shared, is_writable, is_executable;
	uint32_t reserved;
};
TP_TRACE_ASSERT(sizeof(struct tp_mapping) == 8, "mapping");

/* A communicator, seen from one rank. Equal hashes: the same one. -1: not known. */
struct tp_communicator {
	uint64_t hash;
	int32_t rank, n_ranks, n_nodes;
	uint32_t interface;	/* version of NCCL's profiler interface */
};
TP_TRACE_ASSERT(sizeof(struct tp_communicator) == 24, "communicator");

enum tp_coll_what {	/* bits */
	TP_COLL_P2P = 1,	/* a send or a receive */
	TP_COLL_ENGINE = 2,	/* by the device's copy engines, without a kernel */
};
struct tp_coll {
	uint64_t hash;		/* of the communicator */
	uint64_t stream;	/* the program's handle; of the default stream, or not known: 0 */
	int32_t rank, n_ranks;
	int32_t root;		/* p2p: the peer; -1: none */
	uint8_t element_bytes;	/* 0: not known */
	uint8_t channels, warps;/* 0: not known */
	uint8_t what;		/* enum tp_coll_what */
};
TP_TRACE_ASSERT(sizeof(struct tp_coll) == 32, "collective");

struct tp_xfer {
	uint64_t hash;		/* of the communicator */
	int32_t rank, peer;	/* in it */
	uint16_t channel;
	uint8_t is_send;
	uint8_t is_foreign;	/* for another process of this host: function and sequence number
				 * are not known */
	uint32_t reserved;
};
TP_TRACE_ASSERT(sizeof(struct tp_xfer) == 24, "transfer of a proxy");

/* Items of a SHAPES string, one per input, in order. A varint is unsigned LEB128. */
enum tp_shape_item {
	TP_SHAPE_NONE = 0,	  /* None, or a kind of value that is not recorded */
	TP_SHAPE_TENSOR = 1,	  /* dtype (u8: torch's ScalarType), ndim (u8), ndim varints */
	TP_SHAPE_TENSOR_LIST = 2, /* count (u8, at most 64 are kept), that many TENSOR items */
	TP_SHAPE_SCALAR = 3,	  /* int, float, bool or complex; value not recorded */
	TP_SHAPE_SCALAR_LIST = 4,
	TP_SHAPE_CUT = 5,	  /* more inputs followed; they were not recorded */
	/* Since minor 3, items from here on: varint n, n bytes; the unknown can be skipped. */
	TP_SHAPE_GROUP = 6,	  /* of a collective: trainprof-trace(5), "Shapes" */
	TP_SHAPE_COLL = 7,	  /* since minor 4: what another profiler says of it, there, too */
};

struct tp_file_head {
	uint64_t magic;		/* TP_FILE_MAGIC */
	uint16_t major, minor;
	uint32_t head_bytes;	/* of this structure in the writer's version; blocks begin there */
	uint64_t boot_id[2];	/* /proc/sys/kernel/random/boot_id: equal = same clock */
	uint64_t run_id;	/* random, one per process (and per fork) */
	uint32_t pid;
	uint32_t window;	/* 0, 1, 2 ... in this process */
	int32_t rank, local_rank, world_size, node_rank; /* -1: not known */
	uint32_t clock_source;	/* enum tp_clock_source: 1 TSC, 2 MONOTONIC */
	uint32_t restart;	/* elastic restarts before this process */
	uint64_t parent_run_id;	/* of a worker process: its rank's; else 0 */
	uint32_t pid_ns;	/* in which the pid is one; 0: not known */
	uint32_t reserved0;
	uint64_t reserved[4];
	uint64_t checksum;	/* XXH64, seed 0, of all bytes before this field */
};
TP_TRACE_ASSERT(sizeof(struct tp_file_head) == 128, "file head");

enum tp_block_type {
	TP_BLOCK_META = 1,    /* text, "key=value\n": what, where, which options, what is off and why */
	TP_BLOCK_STRINGS = 2, /* string table entries, before the first event that uses them */
	TP_BLOCK_THREADS = 3, /* struct tp_thread_entry[n_items] */
	TP_BLOCK_EVENTS = 4,  /* columns of events */
	TP_BLOCK_LONG = 5,    /* the same, of spans too long to keep the others' order: see below */
	TP_BLOCK_END = 6,     /* text, "key=value\n": totals of the file; nothing follows */
	TP_BLOCK_HEAP = 7,    /* since minor 2: events HEAPALLOC to FRAME, in columns of their own */
	TP_BLOCK_MEMBER = 16, /* since minor 3, of node files only: struct tp_node_member, its path */
	TP_BLOCK_NOTES = 17,  /* lines: what was seen when the files were opened */
	TP_BLOCK_LEDGER = 18, /* bytes of a step ledger */
	TP_BLOCK_RING = 19,   /* bytes of a ring that a dead process left */
	TP_BLOCK_INDEX = 20,  /* struct tp_node_entry[n_items]: where all blocks are */
	TP_BLOCK_REPORT = 21, /* text of a hang or out-of-memory report */
};

enum tp_codec {
	TP_CODEC_RAW = 0,
	TP_CODEC_ZSTD = 1,
};

/*
 * Order. In EVENTS blocks a span is at most TP_LONG_NS long; longer spans go to LONG blocks.
 * Blocks may overlap in time, within a block events have no order; first_time and last_time
 * bound the begin times of its events. So a reader that knows the heads (they chain by
 * stored_bytes, a seek each) can give out all events in time order while it holds only the
 * blocks around the present, and the LONG ones.
 */
#define TP_LONG_NS 10000000u
#define TP_BLOCK_EVENTS_MAX 16384u	    /* events in one block */
#define TP_BLOCK_RAW_MAX (2u << 20)	    /* bytes of one block before compression */

struct tp_block_head {
	uint32_t magic;		/* TP_BLOCK_MAGIC */
	uint8_t type;		/* enum tp_block_type; unknown: skip it */
	uint8_t codec;		/* enum tp_codec */
	uint16_t head_bytes;	/* 128; payload begins there */
	uint32_t n_items;	/* events, strings or threads in it */
	uint32_t raw_bytes;	/* payload before compression */
	uint32_t stored_bytes;	/* payload in the file */
	uint32_t sequence;	/* 0, 1, 2 ... in the file */
	uint64_t first_time;	/* least begin time, ticks (event blocks) */
	uint64_t last_time;	/* latest start time */
	uint64_t anchor_ticks;	/* clock anchor taken when the block was written */
	uint64_t anchor_mono_ns;
	uint64_t anchor_real_ns;
	uint64_t anchor_bracket_ticks;
	uint64_t dropped;	/* records lost so far in this process for want of space */
	uint64_t end_time;	/* latest end time (event blocks) */
	uint64_t reserved[4];
	uint64_t checksum;	/* XXH64, seed 0, of the head before this field, then the payload */
};
TP_TRACE_ASSERT(sizeof(struct tp_block_head) == 128, "block head");
TP_TRACE_ASSERT(offsetof(struct tp_block_head, checksum) == 120, "block checksum is last");

/*
 * A node file: a head as of a trace, but for its magic and with only node_rank known; blocks of
 * its members; the INDEX blocks; struct tp_node_tail at the very end. A member is one of the
 * files that were fused. In the head of each of its blocks reserved[TP_NODE_MEMBER] is the
 * member's number plus one, reserved[TP_NODE_OFFSET] where the block began in the member's own
 * file, or where its bytes belong (LEDGER, RING); all else is as it was there.
 */
#define TP_NODE_MAGIC 0x0a1a0a0d314e5054ull	/* "TPN1\r\n\x1a\n" */
#define TP_NODE_TAIL_MAGIC 0x4c494154314e5054ull	/* "TPN1TAIL" */
enum {
	TP_NODE_MEMBER = 0,
	TP_NODE_OFFSET = 1,
	TP_NODE_ENTRIES_MAX = TP_BLOCK_RAW_MAX / 256,	/* of one INDEX block */
};

enum tp_member_kind {
	TP_MEMBER_TRACE = 1,
	TP_MEMBER_LEDGER = 2,
	TP_MEMBER_RING = 3,
	TP_MEMBER_NOTES = 4,	/* no file: what was noted after the last of them */
	TP_MEMBER_REPORT = 5,	/* of a hang, or of an allocation that failed */
};

enum {	/* tp_node_member.flags */
	TP_MEMBER_WHOLE = 1,	/* a trace with its END block */
};

struct tp_node_member {
	uint32_t kind;		/* enum tp_member_kind */
	uint32_t flags;
	uint64_t file_bytes;	/* of the file that it was */
	uint64_t first_step, last_step; /* of the run, that lie in a trace's window; last < first: none */
	uint64_t begin_ns, end_ns;	/* CLOCK_REALTIME, of a trace's window; 0: not known */
	uint64_t reserved[2];
	struct tp_file_head head;	/* of a trace; of others what is known of their process */
};
TP_TRACE_ASSERT(sizeof(struct tp_node_member) == 192, "member of a node file");

struct tp_node_entry {
	uint64_t at;			/* of the block's head, in the node file */
	struct tp_block_head head;
};
TP_TRACE_ASSERT(sizeof(struct tp_node_entry) == 136, "entry of a node file's index");

struct tp_node_tail {
	uint64_t magic;		/* TP_NODE_TAIL_MAGIC */
	uint64_t index_at;	/* of the first INDEX block; the others follow */
	uint32_t n_index;	/* INDEX blocks */
	uint32_t n_members;
	uint64_t n_blocks;	/* before them */
	uint64_t reserved[3];
	uint64_t checksum;	/* XXH64, seed 0, of all bytes before this field */
};
TP_TRACE_ASSERT(sizeof(struct tp_node_tail) == 64, "tail of a node file");

/* Payload of TP_BLOCK_STRINGS, n_items times: varint id, varint kind, varint bytes, the bytes. */

struct tp_thread_entry {
	uint32_t slot;		/* the number that events carry */
	uint32_t tid;		/* the kernel's */
	uint32_t torch_id;	/* torch's own small number (forward threads), 0: not known */
	uint32_t flags;		/* bit 0: the process's first thread */
	char name[16];		/* the kernel's (comm), NUL-padded */
};
TP_TRACE_ASSERT(sizeof(struct tp_thread_entry) == 32, "thread entry");

#ifdef __cplusplus
}
#endif
#endif
