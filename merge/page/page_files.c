/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_files.c - the sources of the page, taken into the program as they are
 *
 * The Makefile puts the files and their hashes into TP_PAGE, a folder of the build.
 */
#include "merge/page/page_files.h"

#include <stdint.h>
#include <string.h>

#define TAKE(name, file)                                                                       \
	__asm__(".pushsection .rodata\n"                                                       \
		"tp_page_" #name ":\n"                                                         \
		".incbin \"" TP_PAGE "/" file "\"\n"                                           \
		"tp_page_" #name "_end:\n"                                                     \
		".byte 0\n"                                                                    \
		".popsection\n");                                                              \
	extern const char tp_page_##name[], tp_page_##name##_end[]

TAKE(html, "page.html");
TAKE(css, "page.css");
TAKE(js, "page.js");
TAKE(charts_css, "charts.css");
TAKE(charts_js, "charts.js");
/* A line a file, in their order: the hash as sha256sum writes it. */
TAKE(hashes, "hashes");

static const struct {
	const char *begin, *end;
} files[TP_PAGE_FILES] = {
	[TP_PAGE_HTML] = {tp_page_html, tp_page_html_end},
	[TP_PAGE_CSS] = {tp_page_css, tp_page_css_end},
	[TP_PAGE_JS] = {tp_page_js, tp_page_js_end},
	[TP_PAGE_CHARTS_CSS] = {tp_page_charts_css, tp_page_charts_css_end},
	[TP_PAGE_CHARTS_JS] = {tp_page_charts_js, tp_page_charts_js_end},
};

const char *tp_page_file(enum tp_page_file file, size_t *n)
{
	*n = (size_t)(files[file].end - files[file].begin);
	return files[file].begin;
}

static uint32_t digit(char c)
{
	return (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

const char *tp_page_hash(enum tp_page_file file, char buf[64])
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *hex = tp_page_hashes;
	char *p = buf;

	for (enum tp_page_file i = 0; i < file; i++)
		hex = strchr(hex, '\n') + 1;
	memcpy(p, "sha256-", 7);
	p += 7;
	/* 32 bytes: ten times three, and two that are left over. */
	for (uint32_t at = 0; at < 64; at += 6) {
		uint32_t bits = 0;

		for (uint32_t i = 0; i < 6; i++)
			bits = bits << 4 | (at + i < 64 ? digit(hex[at + i]) : 0);
		for (int shift = 18; shift >= 0; shift -= 6)
			*p++ = letters[bits >> shift & 63];
	}
	p[-1] = '=';
	*p = 0;
	return buf;
}
