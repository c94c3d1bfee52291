/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_python.c - whether a file of Python is what its user wrote, by its name
 */
#include "runtime/base/own_python.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/begins.h"

enum { NAME_MOST = 32 };

/* In the order of their names: packages and modules that stand around a training's own code. */
static const char *const others[] = {
	"PIL", "_pytest", "abc", "accelerate", "apex", "argparse", "ast", "asyncio", "bdb",
	"bitsandbytes", "click", "cloudpickle", "codecs", "collections", "composer",
	"concurrent", "contextlib", "copy", "copyreg", "dataclasses", "datasets", "datetime",
	"deepspeed", "dill", "einops", "email", "enum", "fairscale", "filelock", "flash_attn",
	"fsspec", "functools", "functorch", "glob", "gzip", "hashlib", "heapq",
	"huggingface_hub", "hydra", "ignite", "importlib", "inspect", "io", "json", "lightning",
	"lightning_fabric", "linecache", "logging", "multiprocessing", "numpy", "omegaconf",
	"os", "pandas", "pathlib", "pdb", "peft", "pickle", "pkgutil", "platform", "posixpath",
	"pyarrow", "pytorch_lightning", "queue", "random", "ray", "re", "runpy", "safetensors",
	"scipy", "selectors", "shutil", "signal", "site", "sklearn", "socket", "ssl",
	"statistics", "string", "subprocess", "sympy", "tarfile", "tempfile", "tensorboard",
	"textwrap", "threading", "timeit", "timm", "tokenizers", "torch", "torchaudio",
	"torchdata", "torchmetrics", "torchvision", "tqdm", "traceback", "transformer_engine",
	"transformers", "triton", "trl", "types", "typing", "typing_extensions", "unittest",
	"urllib", "uuid", "wandb", "warnings", "weakref", "xformers", "yaml", "zipfile",
};

static int compare(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

/* By the first part of the path, without ".py". */
static bool is_others(const char *file)
{
	size_t n = strcspn(file, "/");
	char name[NAME_MOST + 1];

	if (n > 3 && !memcmp(file + n - 3, ".py", 3))
		n -= 3;
	if (n > NAME_MOST)
		return false;
	memcpy(name, file, n);
	name[n] = 0;
	return bsearch(name, others, sizeof(others) / sizeof(others[0]), sizeof(others[0]), compare);
}

/* Where torch.compile writes what it made of a program. */
static const char generated[] = "/torchinductor_";

const char *tp_own_python_package(const char *file)
{
	static const char *const folder[] = {"/site-packages/", "/dist-packages/"};

	for (size_t i = 0; i < sizeof(folder) / sizeof(folder[0]); i++) {
		const char *at = strstr(file, folder[i]);

		if (at)
			return at + strlen(folder[i]);
	}
	return NULL;
}

/* Not read from a file, but the user's: from standard input, from a cell of a notebook. "<string>" is what
 * dataclasses and multiprocessing run, too. */
static bool is_typed(const char *file)
{
	static const char *const begin[] = {"<stdin>", "<ipython-input-", "<command-"};

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (tp_begins(file, strlen(file), begin[i]))
			return true;
	return false;
}

bool tp_own_python(const char *file)
{
	return file[0] && (file[0] != '<' || is_typed(file)) && !tp_own_python_package(file) &&
	       !strstr(file, "/lib/python3") && !strstr(file, generated) && (file[0] == '/' || !is_others(file));
}

bool tp_own_python_is_package(const char *file)
{
	const char *package = tp_own_python_package(file);

	return package && strncmp(package, "torch/", 6) != 0;
}

bool tp_own_python_is_asked(const char *function)
{
	static const char *const method[] = {"__call__", "__getitem__", "__getitems__", "__iter__", "__next__"};
	const char *dot = strrchr(function, '.');

	for (size_t i = 0; i < sizeof(method) / sizeof(method[0]); i++)
		if (dot && !strcmp(dot + 1, method[i]))
			return true;
	return false;
}

/* The last part of it; "": of another function's, "timed.<locals>.wrapped". */
static const char *last_part(const char *function)
{
	const char *dot = strrchr(function, '.');

	if (dot && dot > function && dot[-1] == '>')
		return "";
	return dot ? dot + 1 : function;
}

bool tp_own_python_is_public(const char *function)
{
	const char *last = last_part(function);

	/* "<lambda>" */
	return *last && *last != '_' && *last != '<' && strcmp(last, "wrapper") != 0;
}

bool tp_own_python_is_private(const char *function)
{
	const char *last = last_part(function);

	return last[0] == '_' && last[1] != '_';
}
