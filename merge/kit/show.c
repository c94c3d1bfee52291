/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.c - numbers as people read them, and untrusted text made printable
 *
 * Three significant digits: a fourth is noise in a profile, and columns stay narrow.
 */
#include "merge/kit/show.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "merge/kit/utf8.h"

/* 1.23, 12.3, 123: three digits, rounded before the number of decimals is chosen. */
static void print_3_digits(char *buf, size_t cap, double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(buf, cap, "%.*f %s", decimals, value, unit);
}

const char *tp_show_ns(char buf[32], int64_t ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = {{1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};
	const char *sign = ns < 0 ? "-" : "";
	uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	uint64_t seconds = size / 1000000000u;
	char *at = buf + strlen(sign);

	memcpy(buf, sign, strlen(sign) + 1);
	if (size < 1000) {
		snprintf(at, 31, "%" PRIu64 " ns", size);
		return buf;
	}
	for (uint32_t i = 0; i < 3; i++) {
		double value = (double)size / units[i].ns;

		if (value < (i == 2 ? 119.5 : 999.5)) {
			print_3_digits(at, 31, value, units[i].unit);
			return buf;
		}
	}
	if (seconds < 7200)
		snprintf(at, 31, "%" PRIu64 " min %02u s", seconds / 60,
			 (unsigned)(seconds % 60));
	else
		snprintf(at, 31, "%" PRIu64 " h %02u min", seconds / 3600,
			 (unsigned)(seconds / 60 % 60));
	return buf;
}

const char *tp_show_bytes(char buf[32], int64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	const char *sign = bytes < 0 ? "-" : "";
	uint64_t size = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
	char *at = buf + strlen(sign);
	double value = (double)size;
	uint32_t unit = 0;

	memcpy(buf, sign, strlen(sign) + 1);
	if (size < 1024) {
		snprintf(at, 31, "%u B", (unsigned)size);
		return buf;
	}
	value /= 1024;
	while (value >= 999.5 && unit < 5) {
		value /= 1024;
		unit++;
	}
	print_3_digits(at, 31, value, units[unit]);
	return buf;
}

const char *tp_show_count(char buf[32], uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	int out = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[out++] = ',';
		buf[out++] = digits[i];
	}
	buf[out] = 0;
	return buf;
}

const char *tp_show_percent(char buf[32], double part, double whole)
{
	double percent;

	if (!(whole > 0) || !isfinite(part)) {
		snprintf(buf, 32, "-");
		return buf;
	}
	percent = 100 * part / whole;
	if (percent > 0 && percent < 0.05)
		snprintf(buf, 32, "<0.1 %%");
	else if (fabs(percent) < 1e6)
		snprintf(buf, 32, "%.1f %%", percent);
	else
		snprintf(buf, 32, "%.2g %%", percent);
	return buf;
}

const char *tp_show_text(char *buf, uint32_t cap, const char *bytes, uint32_t n)
{
	uint32_t out = 0, len;

	if (!cap)
		return "";
	for (uint32_t i = 0; i < n; i += len) {
		uint32_t c = tp_utf8_next(bytes + i, n - i, &len);
		char shown[8];
		uint32_t n_shown;

		if (c < 0x20 || c == 0x7f) {
			n_shown = (uint32_t)snprintf(shown, sizeof(shown), "\\x%02X",
						     (unsigned)c);
		} else if (c == 0xfffd || tp_utf8_is_unsafe(c)) {
			memcpy(shown, "\xef\xbf\xbd", 3);
			n_shown = 3;
		} else {
			memcpy(shown, bytes + i, len);
			n_shown = len;
		}
		if (out + n_shown + 1 > cap)
			break;
		memcpy(buf + out, shown, n_shown);
		out += n_shown;
	}
	buf[out] = 0;
	return buf;
}

const char *tp_show_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
