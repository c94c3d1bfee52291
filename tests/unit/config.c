/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - tests of the TRAINPROF_ variables: defaults, good and bad values of each kind
 */
#include "tests/unit/config_rig.h"

Test(config, has_the_documented_defaults)
{
	static struct tp_config config;

	tp_config_read(&config, look_up, NULL);
	cr_expect_str_eq(describe(&config), defaults);
	cr_expect_str_eq(config.complaints, "");
	cr_expect_not(config.is_off);
	cr_expect_eq(config.step.source, TP_STEP_NONE);
	cr_expect_eq(config.record, TP_RECORD_OPS | TP_RECORD_TENSORS | TP_RECORD_CUDA |
					    TP_RECORD_DEVMEM | TP_RECORD_HOST |
					    TP_RECORD_MARKS | TP_RECORD_COMM |
					    TP_RECORD_PYSTACKS | TP_RECORD_SAMPLES);
	cr_expect_eq(config.log, TP_LOG_WARN);
}

Test(config, accepts_the_default_of_every_row_as_a_value)
{
	for (int i = 0; i < TP_OPTION_N; i++) {
		static struct tp_config config;
		char name[64];

		if (i == TP_OPTION_ID_CONFIG)
			continue;
		snprintf(name, sizeof(name), "%s%s", TP_OPTION_PREFIX, tp_options[i].name);
		read_one(&config, name, tp_options[i].preset);
		cr_expect_str_eq(config.complaints, "", "%s", name);
		cr_expect_str_eq(describe(&config), defaults, "%s", name);
	}
}

struct good {
	const char *name, *value, *described;
};

static void check_good(const struct good *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		static struct tp_config config;

		read_one(&config, row[i].name, row[i].value);
		cr_expect_str_eq(config.complaints, "", "%s", row[i].value);
		cr_expect(strstr(describe(&config), row[i].described), "%s=%s:\n%s", row[i].name,
			  row[i].value, describe(&config));
	}
}

Test(config, takes_good_values)
{
	static const struct good rows[] = {
		{"TRAINPROF_SCHEDULE", "wait=0,warmup=2,active=8",
		 "SCHEDULE=skip_first=0,wait=0,warmup=2,active=8,repeat=1,per=epoch\n"},
		{"TRAINPROF_SCHEDULE", "repeat=0,per=run",
		 "SCHEDULE=skip_first=0,wait=5,warmup=1,active=4,repeat=0,per=run\n"},
		{"TRAINPROF_SCHEDULE", "at=7,9", "SCHEDULE=at=7,9,warmup=1,active=4\n"},
		{"TRAINPROF_SCHEDULE", "always", "SCHEDULE=always\n"},
		{"TRAINPROF_SCHEDULE", "off", "SCHEDULE=off\n"},
		{"TRAINPROF_STEP", "optimizer", "STEP=optimizer\n"},
		{"TRAINPROF_STEP", "zero_grad", "STEP=zero_grad\n"},
		{"TRAINPROF_STEP", "mark", "STEP=mark\n"},
		{"TRAINPROF_STEP", "loader", "STEP=loader\n"},
		{"TRAINPROF_STEP", "range:train step", "STEP=range:train step\n"},
		{"TRAINPROF_STEP", "range:step_*", "STEP=range:step_*\n"},
		{"TRAINPROF_STEP", "clock:1", "STEP=clock:1\n"},
		{"TRAINPROF_STEP", "clock:3600000", "STEP=clock:3600000\n"},
		{"TRAINPROF_RECORD", "ops", "RECORD=ops\n"},
		{"TRAINPROF_RECORD", "shapes", "RECORD=ops,shapes\n"},
		{"TRAINPROF_RECORD", "host,tensors,host", "RECORD=tensors,host\n"},
		{"TRAINPROF_RECORD", "devmem,cuda", "RECORD=cuda,devmem\n"},
		{"TRAINPROF_RECORD", "none", "RECORD=none\n"},
		{"TRAINPROF_RECORD", "host,heap", "RECORD=heap,host\n"},
		{"TRAINPROF_STACKS", "heap", "STACKS=heap,native,python\n"},
		{"TRAINPROF_STACKS", "python,heap", "STACKS=heap,python\n"},
		{"TRAINPROF_STACKS", "heap,native", "STACKS=heap,native\n"},
		{"TRAINPROF_HEAP", "off", "HEAP=off\n"},
		{"TRAINPROF_HEAP", "sample", "HEAP=sample\n"},
		{"TRAINPROF_HEAP_SAMPLE", "1M", "HEAP_SAMPLE=1M\n"},
		{"TRAINPROF_DIR", "/scratch/{run_name}", "DIR=/scratch/{run_name}\n"},
		{"TRAINPROF_KEEP", "3", "KEEP=3\n"},
		{"TRAINPROF_KEEP", "-1", "KEEP=-1\n"},
		{"TRAINPROF_OVERWRITE", "1", "OVERWRITE=1\n"},
		{"TRAINPROF_OVERWRITE", "new", "OVERWRITE=new\n"},
		{"TRAINPROF_OVERWRITE", "yes", "OVERWRITE=1\n"},
		{"TRAINPROF_OVERWRITE", "false", "OVERWRITE=0\n"},
		{"TRAINPROF_BUFFER", "1048576", "BUFFER=1M\n"},
		{"TRAINPROF_BUFFER", "1536K", "BUFFER=1536K\n"},
		{"TRAINPROF_BUFFER", "4G", "BUFFER=4G\n"},
		{"TRAINPROF_BUFFER_DIR", "/mnt/nvme", "BUFFER_DIR=/mnt/nvme\n"},
		{"TRAINPROF_CUPTI_LIB", "/x/libcupti.so", "CUPTI_LIB=/x/libcupti.so\n"},
		{"TRAINPROF_CUPTI_BUFFER", "1M", "CUPTI_BUFFER=1M\n"},
		{"TRAINPROF_CUDA_GRAPHS", "launch", "CUDA_GRAPHS=launch\n"},
		{"TRAINPROF_HOST_PERIOD", "10", "HOST_PERIOD=10\n"},
		{"TRAINPROF_CLOCK", "monotonic", "CLOCK=monotonic\n"},
		{"TRAINPROF_CLOCK", "tsc", "CLOCK=tsc\n"},
		{"TRAINPROF_LOG", "debug", "LOG=debug\n"},
		{"TRAINPROF_PROGRAM", "train.py", "PROGRAM=train.py\n"},
	};

	check_good(rows, sizeof(rows) / sizeof(rows[0]));
}

Test(config, takes_triggers)
{
	static const struct good rows[] = {
		{"TRAINPROF_TRIGGER", "none", "TRIGGER=none\n"},
		{"TRAINPROF_TRIGGER", "signal:USR2", "TRIGGER=signal:USR2,steps=4,ahead=0\n"},
		{"TRAINPROF_TRIGGER", "control", "TRIGGER=control,steps=4,ahead=0\n"},
		{"TRAINPROF_TRIGGER", "slow=2x,drift=1.25x,mem=12G,devmem=1000,limit=9",
		 "TRIGGER=control,steps=4,ahead=0,limit=9,slow=2.000x,drift=1.250x,mem=12G,devmem=1000\n"},
		{"TRAINPROF_TRIGGER", "limit=0,slow=1000,signal:WINCH,steps=2",
		 "TRIGGER=signal:WINCH,steps=2,ahead=0,limit=0,slow=1000.000x\n"},
		{"TRAINPROF_TRIGGER", "signal:SIGHUP,ahead=9,steps=20", "TRIGGER=signal:HUP,steps=20,ahead=9\n"},
	};

	check_good(rows, sizeof(rows) / sizeof(rows[0]));
}

Test(config, takes_the_steps_of_the_flight_recorder)
{
	static struct tp_config config;

	read_one(&config, "TRAINPROF_RECORDER", "steps=512");
	cr_expect_str_eq(config.complaints, "");
	cr_expect_eq(config.recorder_steps, 512);
	cr_expect(strstr(describe(&config), "RECORDER=steps=512\n"));
}

Test(config, takes_times_in_seconds_minutes_and_hours)
{
	static const char *const rows[][2] = {
		{"off", "HANG=off\n"}, {"90", "HANG=90s\n"}, {"61s", "HANG=61s\n"},
		{"5m", "HANG=5m\n"}, {"2h", "HANG=120m\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static struct tp_config config;

		read_one(&config, "TRAINPROF_HANG", rows[i][0]);
		cr_expect_str_eq(config.complaints, "", "%s", rows[i][0]);
		cr_expect(strstr(describe(&config), rows[i][1]), "%s", rows[i][0]);
	}
}

static const struct {
	const char *name, *value, *complaint;
} bad_values[] = {
	{"TRAINPROF_SCHEDULE", "wait=5,active=0",
	 "TRAINPROF_SCHEDULE: bad value 'wait=5,active=0' at 'active=0'; accepted: "
	 "skip_first=N,wait=N,warmup=N,active=N,repeat=N,per=epoch|run (those wanted; active at "
	 "least 1), or at=N,N...,warmup=N,active=N, always, trigger or off; using 'wait=5,warmup=1,active=4,repeat=1'\n"},
	{"TRAINPROF_TRIGGER", "signal:KILL,steps=2",
	 "TRAINPROF_TRIGGER: bad value 'signal:KILL,steps=2' at 'signal:KILL'; accepted: none, "
	 "or words of control, slow=RATIOx, drift=RATIOx, mem=SIZE, devmem=SIZE, steps=N, ahead=N, "
	 "limit=N and signal:NAME with commas; RATIO above 1; NAME of HUP, USR1, USR2, URG, WINCH; "
	 "using 'control'\n"},
	{"TRAINPROF_TRIGGER", "signal:USR2,steps=0", NULL},
	{"TRAINPROF_TRIGGER", "signal:USR2,", NULL},
	{"TRAINPROF_TRIGGER", "signal:USR2,ahead=", NULL},
	{"TRAINPROF_TRIGGER", "signal:USR2,ahead=1000001", NULL},
	{"TRAINPROF_TRIGGER", "USR2", NULL},
	{"TRAINPROF_TRIGGER", "slow=1x", NULL},
	{"TRAINPROF_TRIGGER", "slow=0.5x", NULL},
	{"TRAINPROF_TRIGGER", "slow=1000.1x", NULL},
	{"TRAINPROF_TRIGGER", "slow=.x", NULL},
	{"TRAINPROF_TRIGGER", "slow=2y", NULL},
	{"TRAINPROF_TRIGGER", "drift=99999999999999999999", NULL},
	{"TRAINPROF_TRIGGER", "mem=0", NULL},
	{"TRAINPROF_TRIGGER", "mem=12X", NULL},
	{"TRAINPROF_TRIGGER", "control,,slow=2x", NULL},
	{"TRAINPROF_TRIGGER", "none,control", NULL},
	{"TRAINPROF_STEP", "step", "TRAINPROF_STEP: bad value 'step'; accepted: auto, optimizer, "
	 "zero_grad, loader, mark, range:NAME or clock:MS (MS from 1 to 3600000); using 'auto'\n"},
	{"TRAINPROF_STEP", "range:", NULL},
	{"TRAINPROF_STEP", "clock:", NULL},
	{"TRAINPROF_STEP", "clock:0", NULL},
	{"TRAINPROF_STEP", "clock:3600001", NULL},
	{"TRAINPROF_STEP", "clock:fast", NULL},
	{"TRAINPROF_RECORD", "ops,gpu", "TRAINPROF_RECORD: bad value 'ops,gpu' at 'gpu'; "
	 "accepted: words of ops, shapes, tensors, cuda, devmem, heap, host, marks, comm, "
	 "categories, pystacks, modules, frameworks, samples with commas, or none; using 'ops,tensors,cuda,devmem,host,marks,comm,pystacks,samples'\n"},
	{"TRAINPROF_RECORD", "ops,,host", NULL},
	{"TRAINPROF_RECORD", "none,ops", NULL},
	{"TRAINPROF_STACKS", "python", NULL},
	{"TRAINPROF_STACKS", "heap,perl", "TRAINPROF_STACKS: bad value 'heap,perl' at 'perl'; "
	 "accepted: none, or heap, to which native or python may be added with commas; using "
	 "'none'\n"},
	{"TRAINPROF_HEAP", "some", NULL},
	{"TRAINPROF_HANG", "1s", "TRAINPROF_HANG: bad value '1s'; accepted: a time from 2s to 24h, like "
	 "90s or 5m, or off; using '5m'\n"},
	{"TRAINPROF_HANG", "25h", NULL},
	{"TRAINPROF_RECORDER", "8", "TRAINPROF_RECORDER: bad value '8'; accepted: steps=N (N from 1 to 512) or "
	 "off; using 'off'\n"},
	{"TRAINPROF_RECORDER", "steps=0", NULL},
	{"TRAINPROF_RECORDER", "steps=513", NULL},
	{"TRAINPROF_RECORDER", "steps=", NULL},
	{"TRAINPROF_HANG", "m", NULL},
	{"TRAINPROF_HANG", "99999999999999999999h", NULL},
	{"TRAINPROF_RECORD", "ops, host", NULL},
	{"TRAINPROF_CUPTI_BUFFER", "1000K", "TRAINPROF_CUPTI_BUFFER: bad value '1000K'; "
	 "accepted: a size from 1M to 4G, like 64M; using '32M'\n"},
	{"TRAINPROF_CUDA_GRAPHS", "nodes", "TRAINPROF_CUDA_GRAPHS: bad value 'nodes'; "
	 "accepted: node or launch; using 'node'\n"},
	{"TRAINPROF_KEEP", "-2", "TRAINPROF_KEEP: bad value '-2'; accepted: a number from -1 to "
	 "1000; using '-1'\n"},
	{"TRAINPROF_KEEP", "1001", NULL},
	{"TRAINPROF_KEEP", "3 ", NULL},
	{"TRAINPROF_OVERWRITE", "2", "TRAINPROF_OVERWRITE: bad value '2'; accepted: new, 0 or 1; "
	 "using 'new'\n"},
	{"TRAINPROF_BUFFER", "32X", "TRAINPROF_BUFFER: bad value '32X'; accepted: a size from "
	 "1M to 4G, like 64M; using '32M'\n"},
	{"TRAINPROF_BUFFER", "1023K", NULL},
	{"TRAINPROF_BUFFER", "5G", NULL},
	{"TRAINPROF_BUFFER", "99999999999999999999", NULL},
	{"TRAINPROF_BUFFER", "99999999999G", NULL},
	{"TRAINPROF_HOST_PERIOD", "9", "TRAINPROF_HOST_PERIOD: bad value '9'; accepted: "
	 "milliseconds from 10 to 60000; using '100'\n"},
	{"TRAINPROF_CLOCK", "TSC", "TRAINPROF_CLOCK: bad value 'TSC'; accepted: auto, tsc or "
	 "monotonic; using 'auto'\n"},
	{"TRAINPROF_LOG", "loud", "TRAINPROF_LOG: bad value 'loud'; accepted: quiet, warn, info "
	 "or debug; using 'warn'\n"},
	{"TRAINPROF_DIR", "a\nb", "TRAINPROF_DIR: bad value 'a?b'; accepted: at most 400 bytes; "
	 "using 'trainprof-run'\n"},
};

Test(config, complains_of_bad_values_and_uses_the_default)
{
	for (size_t i = 0; i < sizeof(bad_values) / sizeof(bad_values[0]); i++) {
		static struct tp_config config;

		read_one(&config, bad_values[i].name, bad_values[i].value);
		cr_expect_str_eq(describe(&config), defaults, "%s=%s", bad_values[i].name, bad_values[i].value);
		if (bad_values[i].complaint)
			cr_expect_str_eq(config.complaints, bad_values[i].complaint);
		cr_expect(!strncmp(config.complaints, bad_values[i].name, strlen(bad_values[i].name)), "%s=%s: %s",
			  bad_values[i].name, bad_values[i].value, config.complaints);
		cr_expect_eq(strchr(config.complaints, '\n'),
			     config.complaints + strlen(config.complaints) - 1, "one line");
	}
}

Test(config, says_that_a_schedule_of_triggers_needs_one)
{
	struct pair none[] = {{"TRAINPROF_SCHEDULE", "trigger"}, {"TRAINPROF_TRIGGER", "none"},
			      {NULL, NULL}};
	struct pair pairs[] = {{"TRAINPROF_SCHEDULE", "trigger"}, {"TRAINPROF_TRIGGER", "signal:USR2"},
			       {NULL, NULL}};
	static struct tp_config config;

	tp_config_read(&config, look_up, none);
	cr_expect_str_eq(config.complaints, "TRAINPROF_SCHEDULE=trigger: TRAINPROF_TRIGGER is none; "
					    "no step will be recorded\n");
	tp_config_read(&config, look_up, pairs);
	cr_expect_str_eq(config.complaints, "");
	cr_expect(strstr(describe(&config), "SCHEDULE=trigger\nTRIGGER=signal:USR2,steps=4,"));
}

Test(config, refuses_text_that_is_too_long_and_shows_its_beginning)
{
	for (int i = 0; i < TP_OPTION_N; i++) {
		static struct tp_config config;
		char name[64], value[1024];

		if (tp_options[i].kind != TP_OPTION_TEXT)
			continue;
		snprintf(name, sizeof(name), "%s%s", TP_OPTION_PREFIX, tp_options[i].name);
		memset(value, 'x', sizeof(value));
		value[tp_options[i].most + 1] = '\0';
		read_one(&config, name, value);
		cr_expect_str_eq(describe(&config), defaults, "%s", name);
		cr_expect(strstr(config.complaints, "xxx...';"), "%s", config.complaints);
		if (i == TP_OPTION_ID_CONFIG)
			continue;
		value[tp_options[i].most] = '\0';
		read_one(&config, name, value);
		cr_expect_str_eq(config.complaints, "", "%s of greatest length", name);
	}
}

Test(config, takes_an_empty_value_as_not_set)
{
	for (int i = 0; i < TP_OPTION_N; i++) {
		static struct tp_config config;
		char name[64];

		snprintf(name, sizeof(name), "%s%s", TP_OPTION_PREFIX, tp_options[i].name);
		read_one(&config, name, "");
		cr_expect_str_eq(config.complaints, "", "%s", name);
		cr_expect_str_eq(describe(&config), defaults, "%s", name);
	}
}
