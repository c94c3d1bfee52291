#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cupti_offsets.py - where the members of activity records lie, by NVIDIA's own headers

usage: cupti_offsets.py CC OUT FOLDER...

FOLDER... are include folders; the first that has CUPTI's headers is of the version in question. OUT
gets "version N", a line "record KIND bytes name" per kind of record, and "member KIND name offset
bytes" for those of the members that we read and this version has. CUPTI fills the newest structure
of a kind, which is the one with the highest number in its name.
"""
import os
import re
import subprocess
import sys
import tempfile

PLACE = ["deviceId", "contextId", "streamId"]
TIMES = ["start", "end", "correlationId"]
GRAPH = ["graphNodeId", "graphId"]
COPY = ["copyKind", "srcKind", "dstKind", "flags", "bytes"] + TIMES + PLACE + GRAPH
KERNEL = (["registersPerThread", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
           "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread", "name",
           "clusterX", "clusterY", "clusterZ"] + TIMES + PLACE + GRAPH)
# Kind of record: the name of its structure without the number, our members.
RECORDS = {
    "RUNTIME": ("API", ["cbid", "threadId", "returnValue"] + TIMES),
    "DRIVER": ("API", ["cbid", "threadId", "returnValue"] + TIMES),
    "KERNEL": ("Kernel", KERNEL),
    "CONCURRENT_KERNEL": ("Kernel", KERNEL),
    "MEMCPY": ("Memcpy", COPY),
    "MEMCPY2": ("MemcpyPtoP", COPY + ["srcDeviceId", "dstDeviceId"]),
    "MEMSET": ("Memset", ["value", "bytes", "flags", "memoryKind"] + TIMES + PLACE + GRAPH),
    "SYNCHRONIZATION": ("Synchronization", ["type", "contextId", "streamId", "cudaEventId",
                                            "cudaEventSyncId", "returnValue"] + TIMES),
    "CUDA_EVENT": ("CudaEvent", ["correlationId", "eventId", "cudaEventSyncId"] + PLACE),
    "GRAPH_TRACE": ("GraphTrace", ["graphId"] + TIMES + PLACE),
    "OVERHEAD": ("Overhead", ["overheadKind", "objectKind", "objectId.pt.threadId", "start",
                              "end"]),
    "MEMORY2": ("Memory", ["memoryOperationType", "memoryKind", "correlationId", "address",
                           "bytes", "timestamp"] + PLACE),
    "MEMORY_POOL": ("MemoryPool", ["correlationId", "deviceId", "timestamp"]),
    "DEVICE": ("Device", ["id", "globalMemorySize", "numThreadsPerWarp", "coreClockRate",
                          "numMultiprocessors", "maxWarpsPerMultiprocessor",
                          "maxSharedMemoryPerMultiprocessor", "maxRegistersPerMultiprocessor",
                          "maxRegistersPerBlock", "maxSharedMemoryPerBlock",
                          "maxThreadsPerBlock", "computeCapabilityMajor",
                          "computeCapabilityMinor", "name"]),
    "CONTEXT": ("Context", ["contextId", "deviceId"]),
    "STREAM": ("Stream", ["contextId", "streamId"]),
}


def newest(text, stem):
    """The structure's name and the words in it."""
    found = re.findall(r"\} CUpti_Activity%s(\d*);" % stem, text)
    number = max(found, key=lambda each: int(each or 1))
    name = "CUpti_Activity%s%s" % (stem, number)
    end = text.index("} %s;" % name)
    body = text[text.rindex("typedef struct", 0, end):end]
    return name, set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", body, flags=re.S)))


def main():
    compiler, out, folders = sys.argv[1], sys.argv[2], sys.argv[3:]
    text = ""
    cupti = next(each for each in folders
                 if os.path.exists(os.path.join(each, "cupti_activity.h")))
    for header in ("cupti_activity.h", "cupti_activity_deprecated.h"):
        path = os.path.join(cupti, header)
        if os.path.exists(path):
            with open(path) as file:
                text += file.read()
    lines = ['printf("version %d\\n", CUPTI_API_VERSION);']
    for kind, (stem, members) in RECORDS.items():
        name, words = newest(text, stem)
        lines.append('printf("record %%d %%zu %s\\n", CUPTI_ACTIVITY_KIND_%s, sizeof(%s));'
                     % (kind, kind, name))
        for member in members:
            if member.split(".")[0] in words:
                lines.append('printf("member %%d %s %%zu %%zu\\n", CUPTI_ACTIVITY_KIND_%s, '
                             'offsetof(%s, %s), sizeof(((%s *)0)->%s));'
                             % (member, kind, name, member, name, member))
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "a.c"), os.path.join(folder, "a")
        with open(source, "w") as file:
            file.write("#include <stddef.h>\n#include <stdio.h>\n#include <cupti_version.h>\n"
                       "#include <cupti_activity.h>\n"
                       "int main(void)\n{\n%s\nreturn 0;\n}\n" % "\n".join(lines))
        subprocess.run([compiler, "-w", "-o", program, source]
                       + [word for each in folders for word in ("-isystem", each)], check=True)
        rows = subprocess.run([program], check=True, stdout=subprocess.PIPE).stdout
    with open(out, "wb") as file:
        file.write(rows)


if __name__ == "__main__":
    main()
