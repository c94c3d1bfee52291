/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_python.h - whether a file of Python is what its user wrote, by its name
 *
 * The standard library and what is installed are not. torch.profiler cuts the folders off that
 * Python finds modules in ("torch/nn/functional.py", "contextlib.py"): of such names those that are
 * known to be others' are not its user's.
 */
#ifndef TP_BASE_OWN_PYTHON_H
#define TP_BASE_OWN_PYTHON_H

#include <stdbool.h>

bool tp_own_python(const char *file);

/* What follows the folder that packages are installed in: "torch/nn/functional.py"; NULL: it is in none. */
const char *tp_own_python_package(const char *file);
/* Of an installed package around torch: torch's own is none. */
bool tp_own_python_is_package(const char *file);
/* What a library offers by that name: what its author calls private, and what wraps others, is not. */
bool tp_own_python_is_public(const char *function);
/* "Trainer._save": private by its name, which wraps nothing. */
bool tp_own_python_is_private(const char *function);
/* "Resize.__call__", "Photos.__getitem__": how transforms and datasets are asked. */
bool tp_own_python_is_asked(const char *function);

#endif
