# Sluice.  `make help` lists the targets.
#
# Objects live in build/VARIANT, so variants coexist:
#   release     what is installed
#   asan        AddressSanitizer and UndefinedBehaviorSanitizer, with testpoints
#   tsan        ThreadSanitizer, with testpoints
#   testpoints  release with testpoints, for the kill tests

VARIANT ?= release
PREFIX ?= /usr/local
DESTDIR ?=
B := build/$(VARIANT)

VERSION := $(shell sed -n 's/.*SLUICE_VERSION "\(.*\)"/\1/p' shared/version.h)

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
OPTIMIZE_release := -O2 -g
OPTIMIZE_testpoints := -O2 -g -DSLUICE_TESTPOINTS
OPTIMIZE_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined \
	-fno-omit-frame-pointer -DSLUICE_TESTPOINTS
OPTIMIZE_tsan := -O1 -g -fsanitize=thread -DSLUICE_TESTPOINTS
CC_tsan := clang
ifeq ($(origin CC),default)
CC := $(or $(CC_$(VARIANT)),gcc)
endif

ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -I. $(WARNINGS) $(OPTIMIZE_$(VARIANT)) -fvisibility=hidden \
	-pthread $(DEPS_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = -pthread $(OPTIMIZE_$(VARIANT)) $(LDFLAGS)

# ---- sources ---------------------------------------------------------------

RING_SOURCES := $(wildcard ring/*.c)
# What belongs to programs, not to the library: it prints, or ends the program.
PROGRAM_SHARED := shared/account.c shared/command.c shared/json_out.c shared/leave.c \
	shared/log.c shared/progress.c shared/reader_talk.c shared/temporary.c shared/units.c \
	shared/writer_talk.c
LIBRARY_SOURCES := $(RING_SOURCES) $(filter-out $(PROGRAM_SHARED),$(wildcard shared/*.c))
PRODUCER_SOURCES := $(wildcard producer/*.c)
CONSUMER_SOURCES := $(wildcard consumer/*.c)
BRIDGE_SOURCES := $(wildcard bridge/*.c)
UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
BENCH_SOURCES := $(wildcard tests/bench/*.c)
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.c)

objects = $(patsubst %.c,$(B)/%.o,$(1))

PROGRAMS := sluice-producer sluice-consumer sluice-bridge
MAN_PAGES := producer/sluice-producer.1 consumer/sluice-consumer.1 bridge/sluice-bridge.1
LIBRARY := $(B)/libsluice.a
SHARED := $(B)/libshared.a
UNIT_PROGRAMS := $(patsubst tests/unit/%.c,$(B)/unit/%,$(UNIT_SOURCES))
BENCH_PROGRAMS := $(patsubst tests/bench/%.c,$(B)/bench/%,$(BENCH_SOURCES))

ifeq ($(V),1)
Q :=
else
Q := @
endif
say = $(if $(Q),@echo "  $(1)")

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.PHONY: all help check check-unit check-e2e check-kill check-corpora check-model check-fuzz \
	check-variants demo bench bench-smoke lint install uninstall clean

all: $(addprefix $(B)/,$(PROGRAMS)) $(LIBRARY)

help:
	@echo "make                    the programs and the library, in $(B)"
	@echo "make check              all tests (under five minutes on two cores)"
	@echo "make check-unit         one part: also -e2e -kill -corpora -model -fuzz"
	@echo "make VARIANT=asan check-unit check-e2e    with sanitizers (asan, tsan)"
	@echo "make demo               stream real data through the pipeline, and compare"
	@echo "make bench [PART=local] measure, side by side with cat, pv and mbuffer"
	@echo "make bench-smoke        the same in seconds, without meaning"
	@echo "make lint               clang-tidy, cppcheck, shellcheck"
	@echo "make fuzz T=1200        fuzz each target for T seconds"
	@echo "make install            into DESTDIR=$(DESTDIR) PREFIX=$(PREFIX)"
	@echo "make uninstall clean help"
	@echo "Variables: VARIANT=release|asan|tsan|testpoints CC CFLAGS LDFLAGS V=1"

# ---- dependencies ------------------------------------------------------------

# Made before anything is compiled, and read again by make.
NEEDS_NOTHING := help clean uninstall
ifneq ($(filter-out $(NEEDS_NOTHING),$(or $(MAKECMDGOALS),all)),)
-include build/deps.mk
endif

build/deps.mk: tools/need.sh
	@mkdir -p build
	@tools/need.sh build
	@pkg-config --print-errors --exists libcbor libxxhash gmp openssl
	@printf 'DEPS_CFLAGS := %s\nDEPS_LIBS := %s\nBRIDGE_LIBS := %s\n' \
		"$$(pkg-config --cflags libcbor libxxhash gmp openssl)" \
		"$$(pkg-config --libs libcbor libxxhash gmp) -lm" \
		"$$(pkg-config --libs openssl)" > $@

build/need-%: tools/need.sh
	@mkdir -p build
	@tools/need.sh $*
	@touch $@

# ---- compiling -----------------------------------------------------------------

$(B)/%.o: %.c | build/deps.mk
	$(call say,CC $<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(LIBRARY): $(call objects,$(LIBRARY_SOURCES))
	$(call say,AR $@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(SHARED): $(call objects,$(PROGRAM_SHARED))
	$(call say,AR $@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/sluice-producer: $(call objects,$(PRODUCER_SOURCES)) $(SHARED) $(LIBRARY)
$(B)/sluice-consumer: $(call objects,$(CONSUMER_SOURCES)) $(SHARED) $(LIBRARY)
$(B)/sluice-bridge: $(call objects,$(BRIDGE_SOURCES)) $(SHARED) $(LIBRARY)
$(B)/sluice-bridge: OWN_LIBS = $(BRIDGE_LIBS)
$(addprefix $(B)/,$(PROGRAMS)):
	$(call say,LD $@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(DEPS_LIBS) $(OWN_LIBS) -o $@

# A unit test may name the program objects that it is about in a line
# "// needs: consumer/sink_raw.c ...", and what else it is linked with in
# "// libs: -lssl ..."
named = $(shell sed -n 's,^// $(1): \(.*\),\1,p' $(2))
needs = $(call objects,$(call named,needs,$(1)))

.SECONDEXPANSION:
$(B)/unit/%: $(B)/tests/unit/%.o $$(call needs,tests/unit/$$*.c) $(SHARED) $(LIBRARY) | build/need-check
	$(call say,LD $@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(filter %.o %.a,$^) $(DEPS_LIBS) $(call named,libs,tests/unit/$*.c) \
		$$(pkg-config --libs check) -o $@

$(call objects,$(UNIT_SOURCES)): | build/need-check

$(B)/bench/%: $(B)/tests/bench/%.o $(SHARED) $(LIBRARY)
	$(call say,LD $@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $(filter %.o %.a,$^) $(DEPS_LIBS) -o $@

-include $(shell find build -name '*.d' 2>/dev/null)

# ---- tests ------------------------------------------------------------------------

check: build/need-check
	@tests/run.sh unit e2e kill corpora model fuzz

check-unit check-e2e check-kill check-corpora check-model check-fuzz: build/need-check
	@VARIANT=$(VARIANT) tests/run.sh $(@:check-%=%)

# What tests/run.sh builds before it runs a part.
.PHONY: unit-programs bench-programs
unit-programs: $(UNIT_PROGRAMS)
bench-programs: $(BENCH_PROGRAMS)

demo: all build/need-demo
	@tests/demo.sh $(B)

bench: all bench-programs build/need-bench
	@tests/bench/run.py $(B) $(PART)

bench-smoke: all bench-programs build/need-bench
	@SMOKE=1 tests/bench/run.py $(B)

lint: build/need-lint
	@tests/lint.sh

# ---- fuzzing -------------------------------------------------------------------------

T ?= 1200
FUZZ_PROGRAMS := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(FUZZ_SOURCES))
FUZZ_FLAGS := -std=gnu17 -D_GNU_SOURCE -I. -g -O1 -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=undefined -pthread

.PHONY: fuzz fuzz-programs
fuzz-programs: $(FUZZ_PROGRAMS)
fuzz: fuzz-programs
	@tests/fuzz/run.sh $(T)

build/fuzz/%: tests/fuzz/%.c $$(call named,needs,tests/fuzz/$$*.c) \
		$(LIBRARY_SOURCES) $(PROGRAM_SHARED) $(wildcard */*.h) | build/need-fuzz build/deps.mk
	$(call say,FUZZ $@)
	@mkdir -p $(@D)
	$(Q)clang $(FUZZ_FLAGS) $(DEPS_CFLAGS) $(filter %.c,$^) $(DEPS_LIBS) \
		$(call named,libs,tests/fuzz/$*.c) -o $@

# ---- installing ------------------------------------------------------------------------

INSTALL_ROOT = $(DESTDIR)$(PREFIX)

install: all
	install -d $(INSTALL_ROOT)/bin $(INSTALL_ROOT)/lib/pkgconfig $(INSTALL_ROOT)/share/man/man1 \
		$(INSTALL_ROOT)/include/sluice/ring $(INSTALL_ROOT)/include/sluice/shared
	install -m 755 $(addprefix $(B)/,$(PROGRAMS)) $(INSTALL_ROOT)/bin
	install -m 644 $(MAN_PAGES) $(INSTALL_ROOT)/share/man/man1
	install -m 644 $(LIBRARY) $(INSTALL_ROOT)/lib
	install -m 644 ring/ring.h $(INSTALL_ROOT)/include/sluice/ring
	install -m 644 shared/stream.h $(INSTALL_ROOT)/include/sluice/shared
	sed -e 's,@PREFIX@,$(PREFIX),' -e 's,@VERSION@,$(VERSION),' tools/sluice.pc.in \
		> $(INSTALL_ROOT)/lib/pkgconfig/sluice.pc

uninstall:
	rm -f $(addprefix $(INSTALL_ROOT)/bin/,$(PROGRAMS)) $(INSTALL_ROOT)/lib/libsluice.a \
		$(INSTALL_ROOT)/lib/pkgconfig/sluice.pc \
		$(addprefix $(INSTALL_ROOT)/share/man/man1/,$(notdir $(MAN_PAGES)))
	rm -rf $(INSTALL_ROOT)/include/sluice

clean:
	rm -rf build
