/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_share.h - a full buffer goes back to who gave it, whoever registered after that
 *
 * CUPTI hands all full buffers to the function that was registered last, and may hold one of ours when
 * another tool registers his: a call of CUDA that a thread is in while we let go ends after our last flush,
 * and its record takes a buffer. He would get memory that is not his (and free() it), with his own records
 * in it. So ours is the function that is registered, for both: it knows our buffers by their address. What
 * CUPTI wrote to one of them for him he gets in a buffer of his own. Threads: those of CUPTI's and of the
 * program's.
 */
#ifndef TP_PROBE_CUPTI_SHARE_H
#define TP_PROBE_CUPTI_SHARE_H

#include <stdint.h>

#include <cupti.h>

/* He registers these now. What is to be registered as his `completed`: that itself, where we have no
 * buffers. */
CUpti_BuffersCallbackCompleteFunc tp_cupti_share_with(CUpti_BuffersCallbackRequestFunc requested,
						      CUpti_BuffersCallbackCompleteFunc completed);
/* He wants records of that kind; of others that are in our buffers he gets none. */
void tp_cupti_share_kind(CUpti_ActivityKind kind);
/* We register ours now; buffers of his that come yet are still his. Returns what to register. */
CUpti_BuffersCallbackCompleteFunc tp_cupti_share_ours(void);
/* CUPTI was finalised, or this is a fork: nothing of his comes any more. */
void tp_cupti_share_forget(void);
/* Records of ours that came too late, and for which he gave no buffer. */
uint64_t tp_cupti_share_lost(void);

#endif
