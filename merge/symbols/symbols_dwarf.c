/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_dwarf.c - functions with what was inlined into them, and lines, from DWARF
 *
 * Addresses are grouped by compilation unit, and the entries of a unit are walked once for all
 * of them: libdw's own search begins at the first entry of the unit for each address. A unit is
 * found by the table of address ranges; units that are not in there (clang writes none) say
 * themselves where their code is.
 */
#include "merge/symbols/symbols_in.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/order.h"

enum {
	DEPTH = 200,		/* entries within entries: deeper ones are no compiler's work */
	CHAIN = 1000,		/* functions inlined into each other */
};

#define NO_UNIT UINT64_MAX

/* An address and the unit it is in, by the offset of the unit's first entry. */
struct target {
	uint64_t unit, pc;
	uint32_t lookup;
	uint32_t scope;		/* innermost one that was found */
};

struct range {
	uint64_t begin, end, unit;
};

/* An entry of DWARF in which some of the targets are. */
struct scope {
	Dwarf_Die die;
	uint32_t parent;	/* 0: the unit */
	int tag;
	const char *name;	/* NULL: not looked up yet */
	bool is_short;		/* without what it is in */
};

struct walk {
	struct target *target;	/* those of one unit, by pc */
	uint32_t n;
	struct scope *scope;
	uint32_t n_scopes, cap_scopes;
	bool is_thorough;	/* also where code is hardly ever */
};

static int by_unit(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

static int by_begin(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* ---- which unit ---- */

/* Units of which the table of ranges knows, sorted; NULL: none, or out of memory. */
static uint64_t *known_units(Dwarf_Aranges *aranges, size_t n)
{
	uint64_t *unit = n ? malloc(n * sizeof(*unit)) : NULL;

	for (size_t i = 0; unit && i < n; i++) {
		Dwarf_Arange *range = dwarf_onearange(aranges, i);
		Dwarf_Addr begin;
		Dwarf_Word bytes;
		Dwarf_Off at;

		unit[i] = range && !dwarf_getarangeinfo(range, &begin, &bytes, &at) ? at : 0;
	}
	if (unit)
		qsort(unit, n, sizeof(*unit), tp_order_u64);
	return unit;
}

/* Where the code of the other units is. */
static uint32_t read_ranges(Dwarf *dwarf, Dwarf_Aranges *aranges, size_t n_aranges,
			    struct range **range)
{
	uint64_t *known = known_units(aranges, n_aranges);
	uint32_t n = 0, cap = 0;
	Dwarf_Off at = 0, next;
	size_t head_bytes;

	for (; !dwarf_nextcu(dwarf, at, &next, &head_bytes, NULL, NULL, NULL); at = next) {
		uint64_t unit = at + head_bytes;
		Dwarf_Addr base, begin, end;
		ptrdiff_t more = 0;
		Dwarf_Die die;

		if ((known && bsearch(&unit, known, n_aranges, sizeof(*known), tp_order_u64)) ||
		    !dwarf_offdie(dwarf, unit, &die))
			continue;
		while ((more = dwarf_ranges(&die, more, &base, &begin, &end)) > 0) {
			/* At 0 is code that the linker left out. */
			if (!begin || begin >= end)
				continue;
			if (!tp_grow(range, &cap, n + 1ull, sizeof(**range)))
				goto out;
			(*range)[n++] = (struct range){begin, end, unit};
		}
	}
out:
	if (n)
		qsort(*range, n, sizeof(**range), by_begin);
	free(known);
	return n;
}

static uint64_t unit_in(const struct range *range, uint32_t n, uint64_t pc)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (range[middle].begin <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low && pc < range[low - 1].end ? range[low - 1].unit : NO_UNIT;
}

static void find_units(Dwarf *dwarf, struct target *target, uint32_t n)
{
	Dwarf_Aranges *aranges = NULL;
	size_t n_aranges = 0;
	struct range *range = NULL;
	uint32_t n_missing = 0, n_ranges;

	if (dwarf_getaranges(dwarf, &aranges, &n_aranges))
		n_aranges = 0;
	for (uint32_t i = 0; i < n; i++) {
		Dwarf_Arange *its = n_aranges ? dwarf_getarange_addr(aranges, target[i].pc) : NULL;
		Dwarf_Off unit;

		target[i].unit = its && !dwarf_getarangeinfo(its, NULL, NULL, &unit) ? unit :
										       NO_UNIT;
		n_missing += target[i].unit == NO_UNIT;
	}
	if (!n_missing)
		return;
	n_ranges = read_ranges(dwarf, aranges, n_aranges, &range);
	for (uint32_t i = 0; i < n; i++)
		if (target[i].unit == NO_UNIT)
			target[i].unit = unit_in(range, n_ranges, target[i].pc);
	free(range);
}

/* ---- which functions ---- */

/* The first target at or behind pc. */
static uint32_t first_from(const struct walk *walk, uint64_t pc)
{
	uint32_t low = 0, high = walk->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (walk->target[middle].pc < pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Moves the targets of scope `parent` that are in `die` there. The new scope; 0: there are none. */
static uint32_t enter(struct walk *walk, Dwarf_Die *die, int tag, uint32_t parent)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t more = 0;
	uint32_t scope = 0;

	while ((more = dwarf_ranges(die, more, &base, &begin, &end)) > 0) {
		for (uint32_t i = first_from(walk, begin); i < walk->n && walk->target[i].pc < end;
		     i++) {
			if (walk->target[i].scope != parent)
				continue;
			if (!scope) {
				if (!tp_grow(&walk->scope, &walk->cap_scopes, walk->n_scopes + 1ull,
					     sizeof(*walk->scope)))
					return 0;
				scope = walk->n_scopes++;
				walk->scope[scope] =
					(struct scope){.die = *die, .parent = parent, .tag = tag};
			}
			walk->target[i].scope = scope;
		}
	}
	return scope;
}

static void walk_children(struct walk *walk, Dwarf_Die *parent_die, uint32_t parent, uint32_t depth)
{
	Dwarf_Die die;
	bool is_more = depth < DEPTH && !dwarf_child(parent_die, &die);

	for (; is_more; is_more = !dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);
		uint32_t inside;

		switch (tag) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_with_stmt:
			inside = enter(walk, &die, tag, parent);
			if (inside)
				walk_children(walk, &die, inside, depth + 1);
			else if (walk->is_thorough)
				walk_children(walk, &die, parent, depth + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
			walk_children(walk, &die, parent, depth + 1);
			break;
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
			if (walk->is_thorough)
				walk_children(walk, &die, parent, depth + 1);
			break;
		}
	}
}

/* ---- what they are called ---- */

static const char *text_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

/* Of a unit, which has it itself: libdw does not look into its other file for it. */
static const char *text_of_unit(Dwarf_Die *unit, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(unit, name, &attribute));
}

static const char *function_of(struct tp_symbols_job *job, struct scope *scope)
{
	const char *name;

	if (!scope->name) {
		name = text_of(&scope->die, DW_AT_linkage_name);
		if (!name)
			name = text_of(&scope->die, DW_AT_MIPS_linkage_name);
		scope->is_short = !name;
		if (!name)
			name = text_of(&scope->die, DW_AT_name);
		scope->name = tp_symbols_function(tp_symbols_texts_of(job->symbols), name);
	}
	return scope->name;
}

/* Names of files stand relative to the folder in which the unit was compiled. */
static const char *file_of(struct tp_symbols_job *job, Dwarf_Die *unit, const char *name)
{
	struct tp_symbols_texts *texts = tp_symbols_texts_of(job->symbols);
	const char *folder = name && *name != '/' ? text_of_unit(unit, DW_AT_comp_dir) : NULL;
	char path[8192];
	int n;

	if (!name)
		return "";
	if (!folder)
		return tp_symbols_text(texts, name, strlen(name));
	n = snprintf(path, sizeof(path), "%s/%s", folder, name);
	return n > 0 && (size_t)n < sizeof(path) ? tp_symbols_text(texts, path, (size_t)n) : "";
}

/* From where an inlined function is called: the place in the function around it. */
static void call_of(struct tp_symbols_job *job, Dwarf_Die *unit, Dwarf_Die *inlined,
		    struct tp_symbol *place)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Files *files;
	Dwarf_Die its_unit;
	size_t n;

	place->file = "";
	place->line = 0;
	if (!dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) &&
	    number <= UINT32_MAX)
		place->line = (uint32_t)number;
	if (!dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &number) &&
	    dwarf_diecu(inlined, &its_unit, NULL, NULL) &&
	    !dwarf_getsrcfiles(&its_unit, &files, &n) && number < n)
		place->file = file_of(job, unit, dwarf_filesrc(files, number, NULL, NULL));
}

static bool is_function(const struct scope *scope)
{
	return scope->tag == DW_TAG_inlined_subroutine || scope->tag == DW_TAG_subprogram;
}

/* In C a function's name is all there is to say. */
static bool is_of_c(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	}
	return false;
}

static void answer(struct tp_symbols_job *job, struct walk *walk, Dwarf_Die *unit, bool has_scopes,
		   const struct target *target)
{
	struct tp_symbols_lookup *lookup = &job->lookup[target->lookup];
	struct tp_symbol symbol = {.function = "", .file = ""};
	Dwarf_Line *line = dwarf_getsrc_die(unit, target->pc);
	uint32_t first = job->n_found, n = 0;
	int number;

	if (line) {
		/* Line 0: code that the compiler made of no line in particular. */
		if (!dwarf_lineno(line, &number) && number > 0)
			symbol.line = (uint32_t)number;
		symbol.file = file_of(job, unit, dwarf_linesrc(line, NULL, NULL));
	}
	for (uint32_t at = target->scope; at && n < CHAIN; at = walk->scope[at].parent) {
		struct scope *scope = &walk->scope[at];

		if (!is_function(scope))
			continue;
		symbol.is_inlined = scope->tag == DW_TAG_inlined_subroutine;
		symbol.function = function_of(job, scope);
		if (!tp_symbols_job_add(job, symbol))
			return;
		n++;
		lookup->is_short = !symbol.is_inlined && scope->is_short && has_scopes;
		if (!symbol.is_inlined)
			break;
		call_of(job, unit, &scope->die, &symbol);
	}
	/* Then the symbol table says what function it is, and the unit where. */
	if (!n && *symbol.file && tp_symbols_job_add(job, symbol))
		n = 1;
	if (n) {
		lookup->first = first;
		lookup->n = n;
	}
}

static bool may_split(const struct tp_symbols_file *file, Dwarf_Die *unit)
{
	const char *name = text_of_unit(unit, DW_AT_dwo_name);
	const char *within = text_of_unit(unit, DW_AT_comp_dir);

	if (!name)
		name = text_of_unit(unit, DW_AT_GNU_dwo_name);
	return tp_symbols_may_split(file, name ? name : "", within ? within : "");
}

/* The targets of one unit. Lines that libdw has read for it. */
static size_t walk_unit(struct tp_symbols_job *job, const struct tp_symbols_file *file,
			struct target *target, uint32_t n)
{
	struct walk walk = {.target = target, .n = n, .n_scopes = 1};
	Dwarf_Die unit, split, *tree = &unit;
	Dwarf_Lines *lines;
	size_t n_lines = 0;
	bool has_scopes, splits;
	uint8_t type;

	if (!dwarf_offdie(file->dwarf, target->unit, &unit))
		return 0;
	/* Its functions may be in a file of their own (.dwo); its lines are here. */
	splits = may_split(file, &unit);
	if (splits && !dwarf_cu_info(unit.cu, NULL, &type, NULL, &split, NULL, NULL, NULL) &&
	    type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid)
		tree = &split;
	if (dwarf_getsrclines(&unit, &lines, &n_lines))
		n_lines = 0;
	walk_children(&walk, tree, 0, 0);
	for (uint32_t i = 0; i < n && !walk.is_thorough; i++)
		walk.is_thorough = !target[i].scope;
	if (walk.is_thorough)
		walk_children(&walk, tree, 0, 0);
	has_scopes = !splits || !is_of_c(tree);
	for (uint32_t i = 0; i < n && !job->is_out_of_memory; i++)
		answer(job, &walk, &unit, has_scopes, &target[i]);
	free(walk.scope);
	return n_lines;
}

void tp_symbols_dwarf(struct tp_symbols_job *job, struct tp_symbols_file *file, const char *root)
{
	struct target *target = calloc(job->n_lookups, sizeof(*target));
	size_t n_lines = 0;
	char trouble[128];
	uint32_t end;

	if (!target) {
		job->is_out_of_memory = true;
		return;
	}
	for (uint32_t i = 0; i < job->n_lookups; i++)
		target[i] = (struct target){.pc = job->lookup[i].pc + file->dwarf_bias, .lookup = i};
	find_units(file->dwarf, target, job->n_lookups);
	qsort(target, job->n_lookups, sizeof(*target), by_unit);
	for (uint32_t at = 0; at < job->n_lookups && target[at].unit != NO_UNIT; at = end) {
		for (end = at + 1; end < job->n_lookups && target[end].unit == target[at].unit;)
			end++;
		if (n_lines > job->lines_most) {
			tp_symbols_file_close(file);
			if (!tp_symbols_file_open(file, job->module, root, trouble,
						  sizeof(trouble)) || !file->dwarf)
				break;
			n_lines = 0;
		}
		n_lines += walk_unit(job, file, target + at, end - at);
		tp_symbols_job_did(job, end - at);
	}
	free(target);
}
