# SPDX-License-Identifier: Apache-2.0
# scripts.mk - setting up, the demo, checks of the sources, formatting, installing

# Only an interpreter that was named replaces the one of an environment that exists.
setup_python = $(if $(filter file,$(origin PYTHON)),,--python '$(PYTHON)')

## setup: install what make check needs (as root or by sudo; else says what to install)
setup:
	$(Q)scripts/setup --level check $(setup_python)

## setup-long: what make check-long needs beyond that: browsers, training frameworks
setup-long:
	$(Q)scripts/setup --level long $(setup_python)

## demo: train a small GPT under the profiler, merge, print where its time went
demo:
	$(Q)scripts/setup --level demo $(setup_python)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(MAKE) --no-print-directory demo-run

# A make of its own: lines of a recipe are expanded together, before set-up has made the interpreter.
demo-run:
	$(Q)$(test_env) scripts/demo

## check-layers: includes go down the floors only
check-layers:
	$(Q)scripts/check-layers

# The merge's longest are still being cut.
## check-functions: no function is longer than a screen
check-functions:
	$(Q)scripts/check-functions runtime preload merge tests

## format-check: tabs, width, licence, names in head comments
format-check check-format:
	$(Q)scripts/check-format

## check-headers: every header compiles alone, the public ones as C++ too
check-headers: $(headers:%.h=$(O)/alone/%.ok)

public_headers := runtime/trace/trainprof_trace.h merge/arrow/trainprof_read.h $(wildcard preload/trainprof.h)
alone_cflags   := -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror -fsyntax-only
alone_cxxflags := -std=c++11 -Wall -Wextra -Werror -fsyntax-only -iquote .

# A list of rows or structs for one file is no header of its own: those are *.def.
$(O)/alone/%.ok: %.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(tp_cppflags) $(CPPFLAGS) $(alone_cflags) -include $< -xc /dev/null
	$(Q)$(if $(filter $<,$(public_headers)),$(CXX) $(alone_cxxflags) -include $< -xc++ /dev/null)
	@touch $@

## check-exports: the library exports what preload/libtrainprof.map lists, and no more
check-exports: $(lib)
	$(Q)scripts/check-exports $(lib) preload/libtrainprof.map

## check-man: the manual pages are well formed and name every option and record kind
check-man: $(merge)
	$(Q)scripts/check-man $(merge)

man_pages := $(wildcard man/*.[1-8])

# What people read.
## check-words: texts for people say the field's terms
check-words:
	$(Q)scripts/check-words README.md $(man_pages) \
		$(shell find merge runtime preload -name '*.[ch]' -o -name '*.def' -o -name '*.html' \
			-o -name 'page*.js' -o -name '*.txt')

# Both compile every object, without linking: no warning with clang, and on aarch64.
objects := $(preload_obj) $(runtime_obj) $(merge_obj) $(read_obj) $(O)/merge/main.o

## check-clang: everything compiles without a warning with clang
check-clang:
	$(Q)command -v clang >/dev/null || { echo 'no clang here'; exit 77; }; \
	$(sub_make) CC=clang O=$(O)/clang objects

## check-aarch64: everything compiles without a warning for aarch64
check-aarch64:
	$(Q)command -v aarch64-linux-gnu-gcc >/dev/null || { echo 'no aarch64-linux-gnu-gcc here'; exit 77; }; \
	$(sub_make) CC=aarch64-linux-gnu-gcc CPPFLAGS='-idirafter /usr/include' \
		O=$(O)/aarch64 objects

objects: $(objects)

# Small runs of each kind, over which two builds are compared; made once.
RUNS ?= $(O)/runs
compare_programs := $(O)/tests/bench/gen_traces $(O)/tests/bench/gen_heap
compare-runs: all fakes $(compare_programs)
	$(Q)$(test_env) scripts/compare-runs '$(RUNS)'

## compare-outputs: all that trainprof-merge writes, compared with another build's: BASE=its path
compare-outputs: compare-runs
	$(Q)[ -n '$(BASE)' ] || { echo 'BASE=path of another trainprof-merge'; exit 2; }
	$(Q)$(test_python) scripts/compare-outputs $(if $(ONLY),--only '$(ONLY)') '$(BASE)' \
		'$(merge)' '$(RUNS)'

## lint: shellcheck and cppcheck, where they are installed; findings are for people to judge
lint:
	$(Q)scripts/lint

# Of these, what shellcheck says of the scripts must hold.
check-scripts:
	$(Q)scripts/lint --scripts

includedir ?= $(prefix)/include/trainprof

python_parts := $(wildcard scripts/python/trainprof/*.py)
queries := $(wildcard scripts/sql/*.sql)
python_dir = $(libdir)/trainprof/python/trainprof

## install: libraries, commands, manual pages, format header (prefix=, DESTDIR=)
install: all
	install -d '$(DESTDIR)$(libdir)' '$(DESTDIR)$(bindir)' '$(DESTDIR)$(includedir)'
	install -m 644 $(lib) $(read) '$(DESTDIR)$(libdir)'
	install -m 755 $(merge) scripts/trainprof '$(DESTDIR)$(bindir)'
	install -d '$(DESTDIR)$(python_dir)'
	install -d '$(DESTDIR)$(python_dir)/sql'
	install -m 644 $(python_parts) '$(DESTDIR)$(python_dir)'
	install -m 644 $(queries) '$(DESTDIR)$(python_dir)/sql'
	install -m 644 $(public_headers) runtime/trace/records.def '$(DESTDIR)$(includedir)'
	$(foreach m,$(man_pages),install -D -m 644 $m \
		'$(DESTDIR)$(mandir)/man$(subst .,,$(suffix $m))/$(notdir $m)' &&) true

# Built by python -m build with what that Python has: nothing is fetched.
wheel_from := $(O)/wheel-from
## wheel: a wheel of all parts in $(O)/wheel (PYTHON= one with build, setuptools, wheel)
wheel: all
	$(Q)$(PYTHON) -c 'import build, setuptools, wheel' 2>/dev/null || { echo "no build, setuptools and wheel in \
	'$(PYTHON)': pip install build setuptools wheel, or name another in PYTHON" >&2; exit 1; }
	$(Q)rm -rf $(wheel_from) $(O)/wheel && mkdir -p $(wheel_from)/trainprof/sql $(wheel_from)/man
	$(Q)cp scripts/python/pyproject.toml scripts/python/setup.py $(wheel_from)
	$(Q)cp $(python_parts) $(lib) $(read) $(merge) $(wheel_from)/trainprof
	$(Q)cp $(queries) $(wheel_from)/trainprof/sql
	$(Q)cp $(man_pages) $(wheel_from)/man
	$(Q)$(PYTHON) -m build --wheel --no-isolation --outdir $(O)/wheel $(wheel_from) >$(wheel_from)/log 2>&1 || \
		{ cat $(wheel_from)/log >&2; exit 1; }
	@ls $(O)/wheel/*.whl

# Debian 11 is the oldest that mirrors have: the C library is 2.31, of which nothing newer than 2.25 is used.
ROOT ?= $(abspath $(O))/root-bullseye
## wheel-old: the wheel of what is committed for older systems, built in a root of Debian 11 (as root; ROOT=its folder)
wheel-old:
	$(Q)scripts/root make '$(ROOT)' bullseye
	$(Q)CUDA_INCLUDE='$(CUDA_INCLUDE)' DYGRAPHS='$(DYGRAPHS)' scripts/root wheel '$(ROOT)' '$(O)/wheel-old'
	@ls $(O)/wheel-old/*.whl

version := $(shell sed -n 's/^\#define TP_VERSION "\(.*\)"/\1/p' merge/main.c)
dist_name := trainprof-$(version)
# What is committed, and nothing else; times are the commit's, so that two are equal.
## dist: a source archive of what is committed, in $(O)/dist; two of one commit are byte-equal
dist:
	$(Q)git rev-parse -q --verify HEAD >/dev/null || { echo 'dist: no commit of git here' >&2; exit 1; }
	$(Q)mkdir -p $(O)/dist
	$(Q)git archive --format=tar --prefix=$(dist_name)/ HEAD | gzip -9n >$(O)/dist/$(dist_name).tar.gz
	@ls $(O)/dist/$(dist_name).tar.gz

# Built from the archive, by debhelper; the headers of CUDA that are not packaged are those found here.
deb_from := $(O)/deb/$(dist_name)
## deb: a Debian package and one of its debug symbols, in $(O)/deb (needs dpkg-dev, debhelper)
deb: dist
	$(Q)command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null || { echo 'deb: no dpkg-buildpackage \
	or no dh: apt-get install dpkg-dev debhelper' >&2; exit 1; }
	$(Q)rm -rf $(O)/deb && mkdir -p $(O)/deb
	$(Q)tar xzf $(O)/dist/$(dist_name).tar.gz -C $(O)/deb
	$(Q)cp -r scripts/debian $(deb_from)/debian
	$(Q)printf 'trainprof (%s) unstable; urgency=medium\n\n  * As of commit %s.\n\n -- %s  %s\n' '$(version)' \
		"$$(git rev-parse --short HEAD)" "$$(sed -n 's/^Maintainer: //p' scripts/debian/control)" \
		"$$(git log -1 --format=%cD)" >$(deb_from)/debian/changelog
	$(Q)cd $(deb_from) && CUDA_INCLUDE='$(foreach d,$(CUDA_INCLUDE),$(abspath $d))' DYGRAPHS='$(DYGRAPHS)' \
		dpkg-buildpackage -us -uc -b >../log 2>&1 || { tail -30 ../log >&2; exit 1; }
	@ls $(O)/deb/*.deb

## uninstall: remove what install put there
uninstall:
	rm -f '$(DESTDIR)$(libdir)/$(notdir $(lib))' '$(DESTDIR)$(libdir)/$(notdir $(read))' '$(DESTDIR)$(bindir)/$(notdir $(merge))' \
		'$(DESTDIR)$(bindir)/trainprof' \
		$(foreach h,$(public_headers) records.def,'$(DESTDIR)$(includedir)/$(notdir $h)') \
		$(foreach m,$(man_pages),'$(DESTDIR)$(mandir)/man$(subst .,,$(suffix $m))/$(notdir $m)')
	rm -rf '$(DESTDIR)$(libdir)/trainprof'

## distclean: remove every product, the Python environment too
distclean:
	rm -rf build build-*

.PHONY: setup setup-long demo demo-run check-layers check-headers check-exports check-man check-words check-clang \
	check-aarch64 check-functions check-format format-check compare-runs compare-outputs objects lint \
	check-scripts install wheel wheel-old dist deb uninstall distclean
