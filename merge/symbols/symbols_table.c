/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_table.c - which function of a file's symbol table an address is in
 *
 * libdwfl looks at every symbol for each address; a sorted copy of what it reads is made once
 * for a file instead, without the names.
 */
#include "merge/symbols/symbols_in.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST = 1 << 24,		/* symbols that are looked at */
	STEPS_BACK = 4096,	/* symbols around an address that are looked at */
};

struct entry {
	uint64_t begin, end;	/* in libdwfl's numbering; equal: its size is not known */
	uint64_t most_end;	/* of this entry and all before it */
	uint32_t at;		/* in libdwfl's table */
	uint8_t rank;		/* the greater one's name is taken */
};

struct tp_symbols_table {
	Dwfl_Module *mod;
	uint64_t bias;
	struct entry *entry;
	uint32_t n;
};

static int by_address(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static bool is_code(const GElf_Sym *symbol, GElf_Word section)
{
	uint8_t type = GELF_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
	       section != SHN_UNDEF && section != SHN_ABS;
}

static uint8_t rank_of(const GElf_Sym *symbol)
{
	uint8_t binding = GELF_ST_BIND(symbol->st_info);
	uint8_t rank = binding == STB_GLOBAL ? 2 : binding == STB_WEAK ? 1 : 0;

	return rank + (symbol->st_size ? 4 : 0);
}

struct tp_symbols_table *tp_symbols_table_new(const struct tp_symbols_file *file)
{
	int n = dwfl_module_getsymtab(file->mod);
	struct tp_symbols_table *table = calloc(1, sizeof(*table));
	uint64_t most_end = 0;

	if (n > MOST)
		n = MOST;
	if (!table || n <= 0)
		goto none;
	table->entry = malloc((size_t)n * sizeof(*table->entry));
	if (!table->entry)
		goto none;
	table->mod = file->mod;
	table->bias = file->bias;
	for (int i = 0; i < n; i++) {
		GElf_Word section;
		GElf_Addr address;
		GElf_Sym symbol;
		const char *name = dwfl_module_getsym_info(file->mod, i, &symbol, &address, &section,
							   NULL, NULL);

		if (!name || !is_code(&symbol, section))
			continue;
		table->entry[table->n++] = (struct entry){
			.begin = address,
			.end = symbol.st_size > UINT64_MAX - address ? UINT64_MAX :
								       address + symbol.st_size,
			.at = (uint32_t)i,
			.rank = rank_of(&symbol),
		};
	}
	qsort(table->entry, table->n, sizeof(*table->entry), by_address);
	for (uint32_t i = 0; i < table->n; i++) {
		if (table->entry[i].end > most_end)
			most_end = table->entry[i].end;
		table->entry[i].most_end = most_end;
	}
	return table;
none:
	free(table);
	return NULL;
}

void tp_symbols_table_free(struct tp_symbols_table *table)
{
	if (table)
		free(table->entry);
	free(table);
}

/* Whether code at `address` can belong to a symbol that says nothing of its size: both are in
 * one section of code. */
static bool reaches(const struct tp_symbols_table *table, const struct entry *entry,
		    uint64_t address)
{
	GElf_Addr value, bias = 0;
	GElf_Word section;
	GElf_Shdr head;
	GElf_Sym symbol;
	Elf_Scn *scn;
	Elf *elf;

	if (!dwfl_module_getsym_info(table->mod, (int)entry->at, &symbol, &value, &section, &elf,
				     &bias))
		return false;
	scn = elf_getscn(elf, section);
	return scn && gelf_getshdr(scn, &head) && (head.sh_flags & SHF_EXECINSTR) &&
	       entry->begin - bias >= head.sh_addr && address - bias - head.sh_addr < head.sh_size;
}

static const char *name_of(const struct tp_symbols_table *table, const struct entry *entry)
{
	GElf_Addr value;
	GElf_Sym symbol;
	const char *name = dwfl_module_getsym_info(table->mod, (int)entry->at, &symbol, &value, NULL,
						   NULL, NULL);

	return name && *name ? name : NULL;
}

/* Of two names of one function the one that programs use: "malloc", not "__libc_malloc". */
static bool is_plainer(const char *name, const char *than)
{
	size_t underscores = strspn(name, "_"), of_than = strspn(than, "_");

	if (underscores != of_than)
		return underscores < of_than;
	return strcmp(name, than) < 0;
}

const char *tp_symbols_table_find(const struct tp_symbols_table *table, uint64_t pc)
{
	uint64_t address = pc + table->bias;
	const struct entry *around = NULL, *entry = table->entry;
	uint32_t low = 0, high = table->n, i;
	const char *name = NULL;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (entry[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (i = low; i && low - i < STEPS_BACK && entry[i - 1].most_end > address; i--) {
		const struct entry *it = &entry[i - 1];
		const char *its_name;

		if (around && (it->begin != around->begin || it->rank != around->rank))
			break;
		if (it->end <= address)
			continue;
		its_name = name_of(table, it);
		if (!its_name)
			continue;
		if (!name || is_plainer(its_name, name))
			name = its_name;
		around = it;
	}
	if (name || !low)
		return name;
	/* Not in any: perhaps behind one that only says where it begins. */
	entry = &table->entry[low - 1];
	return entry->begin == entry->end && reaches(table, entry, address) ?
		       name_of(table, entry) : NULL;
}
