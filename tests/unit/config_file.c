/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_file.c - the file of TRAINPROF_CONFIG, what is said of what is wrong, and the help
 */
#include "tests/unit/config_rig.h"

/* ---- the file ---- */

static char file_path[64];

static void write_file(const char *text, size_t n)
{
	FILE *file;

	strcpy(file_path, "/tmp/trainprof-config.XXXXXX");
	cr_assert_geq(mkstemp(file_path), 0);
	file = fopen(file_path, "w");
	cr_assert(file);
	cr_assert_eq(fwrite(text, 1, n, file), n);
	fclose(file);
}

static void read_with_file(struct tp_config *config, const char *name, const char *value)
{
	struct pair pairs[] = {{"TRAINPROF_CONFIG", file_path}, {name, value}, {NULL, NULL}};

	tp_config_read(config, look_up, pairs);
	unlink(file_path);
}

Test(config_file, reads_a_file)
{
	static const char text[] =
		"# what we want\n"
		"\n"
		"SCHEDULE=wait=1,active=2\n"
		"  KEEP = 7  \r\n"
		"TRAINPROF_LOG=info\n"
		"export RUN_NAME=\"two words\"\n"
		"TRACE_NAME='{rank}.tpt'\n"
		"DIR=/a=b\n"
		"BUFFER=\n"
		"KEEP=8";
	static struct tp_config config;

	write_file(text, strlen(text));
	read_with_file(&config, NULL, NULL);
	cr_expect_str_eq(config.complaints, "");
	cr_expect_eq(config.schedule.wait, 1);
	cr_expect_eq(config.schedule.active, 2);
	cr_expect_eq(config.keep, 8);
	cr_expect_eq(config.log, TP_LOG_INFO);
	cr_expect_str_eq(config.run_name, "two words");
	cr_expect_str_eq(config.trace_name, "{rank}.tpt");
	cr_expect_str_eq(config.dir, "/a=b");
	cr_expect_eq(config.buffer_bytes, 32u << 20);
}

Test(config_file, lets_the_environment_win_over_the_file)
{
	static const char text[] = "KEEP=7\nLOG=nonsense\n";
	static struct tp_config config;

	write_file(text, strlen(text));
	read_with_file(&config, "TRAINPROF_KEEP", "9");
	cr_expect_eq(config.keep, 9);
	write_file(text, strlen(text));
	read_with_file(&config, "TRAINPROF_LOG", "quiet");
	cr_expect_str_eq(config.complaints, "", "what is not used is not complained of");
}

Test(config_file, complains_of_what_is_wrong_in_a_file_with_its_line)
{
	static const struct {
		const char *text, *complaint;
	} rows[] = {
		{"# x\nKEEP 3\n", "TRAINPROF_CONFIG '%s' line 2: not NAME=value; line ignored\n"},
		{"KEEEP=3\n", "TRAINPROF_KEEEP ('%s' line 1): no such variable; ignored (TRAINPROF_KEEP "
			      "is meant?)\n"},
		{"COLOUR=red\n", "TRAINPROF_COLOUR ('%s' line 1): no such variable; ignored\n"},
		{"\n\nKEEP=x\n", "TRAINPROF_KEEP ('%s' line 3): bad value 'x'; accepted: a number from -1 "
				 "to 1000; using '-1'\n"},
		{"CONFIG=/other\n", "TRAINPROF_CONFIG '%s' line 1: CONFIG names no further file; line "
				    "ignored\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static struct tp_config config;
		char wanted[512];

		write_file(rows[i].text, strlen(rows[i].text));
		read_with_file(&config, NULL, NULL);
		snprintf(wanted, sizeof(wanted), rows[i].complaint, file_path);
		cr_expect_str_eq(config.complaints, wanted);
	}
}

Test(config_file, does_not_use_a_file_that_is_none)
{
	static struct tp_config config;
	static char large[20000];
	char wanted[256];

	memset(large, '\n', sizeof(large));
	write_file(large, sizeof(large));
	read_with_file(&config, NULL, NULL);
	cr_expect(strstr(config.complaints, ": larger than 16384 bytes; it is not used\n"));

	write_file("KEEP=3\n\0LOG=info\n", 17);
	read_with_file(&config, NULL, NULL);
	cr_expect(strstr(config.complaints, ": not a text file; it is not used\n"));
	cr_expect_eq(config.keep, TP_KEEP_ALL);

	snprintf(wanted, sizeof(wanted), "TRAINPROF_CONFIG '%s': cannot read it: No such file or "
		 "directory; it is not used\n", file_path);
	read_with_file(&config, NULL, NULL);
	cr_expect_str_eq(config.complaints, wanted);

	read_one(&config, "TRAINPROF_CONFIG", "/");
	cr_expect(strstr(config.complaints, ": Is a directory;"), "%s", config.complaints);
}

/* ---- names, and many complaints ---- */

Test(config_file, complains_of_variables_that_do_not_exist)
{
	static char *const environment[] = {
		(char *)"PATH=/bin", (char *)"TRAINPROF_SHEDULE=off", (char *)"TRAINPROF_KEEP=1",
		(char *)"TRAINPROF_FOO=1", (char *)"TRAINPROFX=1", (char *)"TRAINPROF_dir=x",
		(char *)"TRAINPROF_", NULL,
	};
	static struct tp_config config;

	tp_config_read(&config, look_up, NULL);
	tp_config_check_names(&config, environment);
	cr_expect_str_eq(config.complaints,
			 "TRAINPROF_SHEDULE: no such variable; ignored (TRAINPROF_SCHEDULE is meant?)\n"
			 "TRAINPROF_FOO: no such variable; ignored\n"
			 "TRAINPROF_dir: no such variable; ignored (TRAINPROF_DIR is meant?)\n"
			 "TRAINPROF_: no such variable; ignored\n");
	tp_config_read(&config, look_up, NULL);
	tp_config_check_names(&config, NULL);
	cr_expect_str_eq(config.complaints, "");
}

Test(config_file, keeps_whole_lines_when_there_is_no_room_for_all)
{
	static char name[100][40];
	static char *environment[101];
	static struct tp_config config;
	const char *last = "more was wrong in the variables than is said here\n";

	for (int i = 0; i < 100; i++) {
		snprintf(name[i], sizeof(name[i]), "TRAINPROF_NONSENSE_%d=1", i);
		environment[i] = name[i];
	}
	tp_config_read(&config, look_up, NULL);
	tp_config_check_names(&config, environment);
	cr_expect_lt(strlen(config.complaints), sizeof(config.complaints));
	cr_expect_str_eq(strstr(config.complaints, "more was"), last, "once, as the last line");
}

Test(config_file, shows_control_characters_as_question_marks)
{
	static struct tp_config config;

	read_one(&config, "TRAINPROF_LOG", "a\033[31m\nb");
	cr_expect(strstr(config.complaints, "'a?[31m?b'"), "%s", config.complaints);
}

/* ---- the table as text ---- */

Test(config_file, help_names_every_variable_in_lines_of_79)
{
	static char buf[8192];
	struct tp_text text;
	const char *last = "";

	tp_text_init(&text, buf, sizeof(buf));
	tp_options_help(&text);
	cr_expect_not(text.is_cut);
	for (const char *line = buf; *line; line += strcspn(line, "\n") + 1) {
		cr_expect_leq(strcspn(line, "\n"), 79, "%.*s", (int)strcspn(line, "\n"), line);
		if (strncmp(line, "TRAINPROF_", 10))
			continue;
		cr_expect_gt(strncmp(line, last, strcspn(line, "=\n")), 0, "sorted");
		last = line;
	}
	for (int i = 0; i < TP_OPTION_N; i++) {
		char name[64];

		snprintf(name, sizeof(name), "\nTRAINPROF_%s", tp_options[i].name);
		cr_expect(strstr(buf, name), "%s", name);
	}
}
